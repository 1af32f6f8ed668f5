package import Clocks
internal import Crypto

// Single phones: what their owners and apps do.
extension SimulatedAPNs {
  /// Adds a phone with the app installed, and issues its device token and, from iOS 17.2 on, its
  /// push-to-start token.
  package mutating func addPhone(_ settings: PhoneSettings) throws(PhoneError) -> Phone {
    guard apps[settings.bundleID] != nil else { throw .unknownApp(settings.bundleID) }
    let number = nextPhone
    nextPhone += 1
    let deviceToken = issueToken(.device, settings.bundleID, number)
    var phone = Phone(phone: number, settings: settings, deviceToken: deviceToken)
    if settings.system >= .pushToStart {
      phone.pushToStartToken = issueToken(.pushToStart, settings.bundleID, number)
    }
    phones[number] = phone
    return phone
  }

  package func phone(_ number: Int) throws(PhoneError) -> Phone {
    guard let phone = phones[number] else { throw .unknownPhone(number) }
    return phone
  }

  /// The app starts an activity itself.
  ///
  /// - Parameter channelID: subscribes to this channel; nil asks for an update token, which is
  ///   issued at once.
  /// - Returns: the activity's number on this simulator.
  package mutating func startActivity(
    on number: Int, attributesType: String = "FieldTripAttributes", attributes: [UInt8] = [],
    contentState: [UInt8], channelID: String?, staleDateSeconds: Int64? = nil, now: UnixTime
  ) throws(PhoneError) -> Int {
    advance(to: now)
    let phone = try phone(number)
    try requireStart(phone, channelID: channelID, now: now)
    let card = LiveActivity(
      contentState: ContentState(contentState), startedAt: now,
      timestampSeconds: configuration.phones.localStartIsStamped ? now.wholeSeconds : nil,
      staleDateSeconds: staleDateSeconds)
    let traits = ActivityTraits(
      attributesType: attributesType, attributesBytes: attributes.count,
      allowsFrequentUpdates: phone.settings.allowsFrequentUpdates)
    let activityID = addActivity(
      to: number, card: card, traits: traits, attributes: attributes, channelID: channelID,
      byPush: false, now: now)
    if channelID == nil { giveUpdateToken(activityID, phone: number, now: now) }
    return activityID
  }

  private func requireStart(
    _ phone: Phone, channelID: String?, now: UnixTime
  ) throws(PhoneError) {
    let settings = phone.settings
    guard settings.isAppInstalled, settings.allowsLiveActivities else {
      throw .notAllowed("Phone \(phone.phone) has no app, or no Live Activities allowed.")
    }
    guard settings.system >= .liveActivities else {
      throw .notAllowed("iOS \(settings.system) has no Live Activities.")
    }
    let running = phone.activities.count { $0.card.phase(at: now, configuration.phones).isRunning }
    guard running < configuration.phones.activitiesPerApp else {
      throw .notAllowed("Phone \(phone.phone) already shows \(running) activities of this app.")
    }
    guard let channelID else { return }
    guard settings.system >= .channels else {
      throw .notAllowed("iOS \(settings.system) has no channels; they begin with iOS 18.")
    }
    guard apps[settings.bundleID]?.channels[channelID] != nil else {
      throw .unknownChannel(channelID)
    }
  }

  /// The person swipes a card away, or the app ends it at once.
  package mutating func dismiss(
    _ activityID: Int, on number: Int, now: UnixTime
  ) throws(PhoneError) {
    advance(to: now)
    guard let index = try phone(number).index(of: activityID) else {
      throw .noActivity(phone: number)
    }
    phones[number]?.activities[index].card.dismiss(at: now)
    phones[number]?.note(
      PhoneEvent(at: now, activityID: activityID, note: "dismissed by the person"))
  }

  /// Puts the phone on or off the network. Coming back, it gets what was stored for it.
  package mutating func setOnline(
    _ isOnline: Bool, phone number: Int, now: UnixTime
  ) throws(PhoneError) {
    advance(to: now)
    let phone = try phone(number)
    guard phone.settings.isOnline != isOnline else { return }
    phones[number]?.settings.isOnline = isOnline
    phones[number]?.note(PhoneEvent(at: now, note: isOnline ? "online" : "offline"))
    if isOnline { catchUp(phone, now: now) }
  }

  /// Changes what the person has set; ``setOnline(_:phone:now:)`` is for the network.
  package mutating func change(
    _ number: Int, now: UnixTime, _ body: (inout PhoneSettings) -> Void
  ) throws(PhoneError) {
    advance(to: now)
    var settings = try phone(number).settings
    let before = settings
    body(&settings)
    settings.isOnline = before.isOnline
    phones[number]?.settings = settings
    if before.isAppInstalled, !settings.isAppInstalled { uninstall(number, now: now) }
  }

  /// The app gets a new update token, and the old one is dead.
  package mutating func rotateUpdateToken(
    _ activityID: Int, on number: Int, now: UnixTime
  ) throws(PhoneError) -> String {
    advance(to: now)
    guard let index = try phone(number).index(of: activityID) else {
      throw .noActivity(phone: number)
    }
    if let old = phones[number]?.activities[index].updateToken {
      deviceTokens[old]?.state = .unregistered(since: now)
    }
    giveUpdateToken(activityID, phone: number, now: now)
    return phones[number]?.activities[index].updateToken ?? ""
  }

  /// Sets what APNs says of a token from now on.
  package mutating func setState(_ state: DeviceToken.State, ofToken text: String) {
    deviceTokens[text]?.state = state
  }

  private mutating func uninstall(_ number: Int, now: UnixTime) {
    for (text, token) in deviceTokens where token.phone == number {
      deviceTokens[text]?.state = .unregistered(since: now)
    }
    for index in phones[number]?.activities.indices ?? 0..<0 {
      phones[number]?.activities[index].card.dismiss(at: now)
    }
  }

  /// The app registers for a push type that has a topic of its own, such as `voip` or `widgets`.
  ///
  /// - Returns: the token for it, another one than the phone's device token.
  package mutating func registerForPushes(
    ofType pushType: String, phone number: Int
  ) throws(PhoneError) -> String {
    let phone = try phone(number)
    guard let topic = PushTopic.named(pushType), !topic.suffix.isEmpty,
      topic.suffix != PushTopic.liveActivitySuffix
    else {
      throw .notAllowed("No app registers for a token of its own for pushes of type \(pushType).")
    }
    return issueToken(.ownTopic, phone.settings.bundleID, number, suffix: topic.suffix)
  }

  private mutating func issueToken(
    _ kind: DeviceToken.Kind, _ bundleID: String, _ phone: Int, suffix: String = "",
    activityID: Int? = nil
  ) -> String {
    // Classic device tokens have 32 bytes; one for Live Activities was seen with 80.
    let text = Hexadecimal.encode(random.bytes(kind.isForActivities ? 80 : 32))
    deviceTokens[text] = DeviceToken(
      text: text, kind: kind, bundleID: bundleID,
      topicSuffix: kind.isForActivities ? PushTopic.liveActivitySuffix : suffix, phone: phone,
      activityID: activityID)
    return text
  }

  mutating func addActivity(
    to number: Int, card: LiveActivity, traits: ActivityTraits, attributes: [UInt8],
    channelID: String?, byPush: Bool, now: UnixTime
  ) -> Int {
    let activityID = nextActivity
    nextActivity += 1
    phones[number]?.activities.append(
      Phone.Activity(
        activityID: activityID, traits: traits, card: card, channelID: channelID,
        attributes: attributes, startedByPush: byPush))
    guard let channelID, let bundleID = phones[number]?.settings.bundleID else {
      return activityID
    }
    let reference = ActivityReference(phone: number, activityID: activityID)
    apps[bundleID]?.channels[channelID]?.subscribers.append(reference)
    if configuration.channels.newSubscribersGetStoredMessage,
      let stored = apps[bundleID]?.channels[channelID]?.storedMessage(at: now)
    {
      dispatch(stored, to: .subscribed(activityID), phone: number, now: now)
    }
    return activityID
  }

  mutating func giveUpdateToken(_ activityID: Int, phone number: Int, now: UnixTime) {
    guard let phone = phones[number], let index = phone.index(of: activityID) else { return }
    let token = issueToken(.update, phone.settings.bundleID, number, activityID: activityID)
    phones[number]?.activities[index].updateToken = token
    phones[number]?.note(
      PhoneEvent(at: now, activityID: activityID, note: "update token issued"))
  }

  private mutating func catchUp(_ phone: Phone, now: UnixTime) {
    let number = phone.phone
    phones[number]?.missedBroadcasts.removeAll()
    for activity in phone.activities {
      guard let channelID = activity.channelID,
        let missed = phone.missedBroadcasts[activity.activityID],
        let stored = channel(phone.settings.bundleID, channelID)?.storedMessage(at: now),
        stored.number >= missed
      else { continue }
      dispatch(stored, to: .subscribed(activity.activityID), phone: number, now: now)
    }
    guard let waiting = phone.waitingDevicePush else { return }
    phones[number]?.waitingDevicePush = nil
    guard case .until(let expiry) = waiting.storage, now < expiry else {
      phones[number]?.note(
        PhoneEvent(at: now, push: waiting.number, outcome: .dropped(.expiredWhileOffline)))
      return
    }
    switch waiting {
    case .activity(let push, let target): dispatch(push, to: target, phone: number, now: now)
    case .notification(let notification): dispatch(notification, phone: number, now: now)
    }
  }
}
