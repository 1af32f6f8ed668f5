package import Clocks

// What reaches single phones, and what they do with it.
extension SimulatedAPNs {
  /// Lets everything happen that is due at single phones.
  package mutating func advance(to now: UnixTime) {
    while let delivery = deliveries.next(until: now) { happen(delivery) }
  }

  /// When something is next due at a single phone.
  package var nextDeliveryAt: UnixTime? { deliveries.nextAt }

  mutating func dispatch(
    _ push: ActivityPush, to target: DeliveryTarget, phone: Int, now: UnixTime
  ) {
    let arrivals = configuration.delivery.arrivals(
      of: push.number, priority: push.priority, at: UInt64(phone), departure: now,
      seed: configuration.seed)
    if arrivals.first == nil {
      phones[phone]?.note(PhoneEvent(at: now, push: push.number, outcome: .dropped(.lost)))
    }
    for arrival in [arrivals.first, arrivals.second] {
      guard let arrival else { continue }
      deliveries.add(PhoneDelivery(at: arrival, phone: phone, what: .push(push, target)))
    }
  }

  mutating func dispatch(_ notification: SimulatedNotification, phone: Int, now: UnixTime) {
    let arrivals = configuration.delivery.arrivals(
      of: notification.number, priority: notification.priority, at: UInt64(phone),
      departure: now, seed: configuration.seed)
    if let first = arrivals.first {
      deliveries.add(PhoneDelivery(at: first, phone: phone, what: .notification(notification)))
    }
  }

  private mutating func happen(_ delivery: PhoneDelivery) {
    guard var phone = phones.removeValue(forKey: delivery.phone) else { return }
    switch delivery.what {
    case .issueUpdateToken(let activityID):
      phones[delivery.phone] = phone
      guard let index = phone.index(of: activityID), phone.activities[index].updateToken == nil,
        phone.activities[index].card.endedAt == nil
      else { return }
      giveUpdateToken(activityID, phone: delivery.phone, now: delivery.at)
      return
    case .notification(let notification):
      arrive(notification, at: delivery.at, &phone)
    case .push(let push, let target):
      arrive(push, target, at: delivery.at, &phone)
    }
    phones[delivery.phone] = phone
  }

  private mutating func arrive(
    _ notification: SimulatedNotification, at now: UnixTime, _ phone: inout Phone
  ) {
    guard phone.settings.isOnline else {
      keep(.notification(notification), at: now, &phone)
      return
    }
    guard phone.settings.isAppInstalled else { return }
    phone.show(notification)
    phone.note(PhoneEvent(at: now, push: notification.number, outcome: .shown))
  }

  private mutating func arrive(
    _ push: ActivityPush, _ target: DeliveryTarget, at now: UnixTime, _ phone: inout Phone
  ) {
    guard phone.settings.isOnline else {
      miss(push, target, at: now, &phone)
      return
    }
    switch target {
    case .start: start(push, at: now, &phone)
    case .subscribed(let activityID), .activity(let activityID):
      let outcome = receive(push, activityID, at: now, &phone)
      phone.note(
        PhoneEvent(
          at: now, push: push.number, activityID: activityID, outcome: outcome,
          note: detail(outcome, push, activityID, phone)))
    }
  }

  private func detail(
    _ outcome: PushOutcome, _ push: ActivityPush, _ activityID: Int, _ phone: Phone
  ) -> String? {
    switch outcome {
    case .dropped(.malformed): push.payload.defect
    case .dropped(.undecodable):
      phone.index(of: activityID).flatMap {
        push.payload.undecodable[phone.activities[$0].traits.attributesType]
      }
    default: push.payload.alert == .complete ? "with an alert" : nil
    }
  }

  private func receive(
    _ push: ActivityPush, _ activityID: Int, at now: UnixTime, _ phone: inout Phone
  ) -> PushOutcome {
    guard phone.settings.isAppInstalled else { return .dropped(.appNotInstalled) }
    guard phone.settings.allowsLiveActivities else { return .dropped(.liveActivitiesOff) }
    guard let index = phone.index(of: activityID) else { return .dropped(.noSuchActivity) }
    return phone.activities[index].card.receive(
      push, at: now, phone.activities[index].traits, configuration.phones,
      budget: &phone.updateBudget)
  }

  /// The phone is offline: a broadcast waits in its channel, a device push in the only slot that
  /// the phone has.
  private mutating func miss(
    _ push: ActivityPush, _ target: DeliveryTarget, at now: UnixTime, _ phone: inout Phone
  ) {
    guard case .subscribed(let activityID) = target else {
      keep(.activity(push, target), at: now, &phone)
      return
    }
    guard case .until = push.storage else {
      phone.note(
        PhoneEvent(
          at: now, push: push.number, activityID: activityID, outcome: .dropped(.offline)))
      return
    }
    if let earlier = phone.missedBroadcasts[activityID] {
      phone.note(
        PhoneEvent(
          at: now, push: min(earlier, push.number), activityID: activityID,
          outcome: .dropped(.replacedWhileOffline)))
    }
    phone.missedBroadcasts[activityID] = max(
      push.number, phone.missedBroadcasts[activityID] ?? 0)
  }

  private mutating func keep(
    _ waiting: Phone.WaitingPush, at now: UnixTime, _ phone: inout Phone
  ) {
    guard case .until = waiting.storage else {
      phone.note(PhoneEvent(at: now, push: waiting.number, outcome: .dropped(.offline)))
      return
    }
    if let earlier = phone.waitingDevicePush {
      phone.note(
        PhoneEvent(at: now, push: earlier.number, outcome: .dropped(.replacedWhileOffline)))
    }
    phone.waitingDevicePush = waiting
  }

  private mutating func start(_ push: ActivityPush, at now: UnixTime, _ phone: inout Phone) {
    guard phone.startsSeen.insert(push.number).inserted else { return }
    if let reason = startRefusal(push, at: now, &phone) {
      let type = push.payload.attributesType ?? ""
      phone.note(
        PhoneEvent(
          at: now, push: push.number, outcome: .dropped(reason),
          note: push.payload.defect ?? push.payload.undecodable[type]))
      return
    }
    guard let state = push.payload.contentState, let type = push.payload.attributesType else {
      return
    }
    let attributes = push.payload.attributes ?? []
    let card = LiveActivity(
      contentState: state, startedAt: now, timestampSeconds: push.payload.timestampSeconds,
      staleDateSeconds: push.payload.staleDateSeconds)
    let traits = ActivityTraits(
      attributesType: type, attributesBytes: attributes.count,
      allowsFrequentUpdates: phone.settings.allowsFrequentUpdates)
    let channelID = push.payload.inputChannelID
    phones[phone.phone] = phone
    let activityID = addActivity(
      to: phone.phone, card: card, traits: traits, attributes: attributes, channelID: channelID,
      byPush: true, now: now)
    phone = phones[phone.phone] ?? phone
    phone.note(
      PhoneEvent(at: now, push: push.number, activityID: activityID, outcome: .started))
    // The app is woken to hand the token over, unless it was force-quit or not allowed to.
    if channelID == nil, !phone.settings.isAppForceQuit, phone.settings.tapsAllow {
      deliveries.add(
        PhoneDelivery(
          at: now + configuration.phones.updateTokenDelay, phone: phone.phone,
          what: .issueUpdateToken(activityID: activityID)))
    }
  }

  private func startRefusal(
    _ push: ActivityPush, at now: UnixTime, _ phone: inout Phone
  ) -> DropReason? {
    let payload = push.payload
    let settings = phone.settings
    let rules = configuration.phones
    if !settings.isAppInstalled { return .appNotInstalled }
    if settings.system < .pushToStart { return .startNotSupported }
    if !settings.allowsLiveActivities { return .liveActivitiesOff }
    guard payload.defect == nil, let timestamp = payload.timestampSeconds else {
      return .malformed
    }
    guard payload.event == .start else { return .noSuchActivity }
    if UnixTime(wholeSeconds: min(timestamp, 1 << 33)) > now + rules.timestampLead {
      return .timestampTooFarAhead
    }
    if payload.alert != .complete { return .startWithoutAlert }
    if let reason = attributesRefusal(payload) { return reason }
    if let channelID = payload.inputChannelID {
      if settings.system < .channels { return .channelInputNeedsIOS18 }
      if apps[settings.bundleID]?.channels[channelID] == nil { return .unknownChannel }
    }
    if let rate = rules.startBudget, !phone.startBudget.take(now, rate) {
      return .startBudgetSpent
    }
    let running = phone.activities.count { $0.card.phase(at: now, rules).isRunning }
    return running < rules.activitiesPerApp ? nil : .noFreeSlot
  }

  private func attributesRefusal(_ payload: ActivityPayload) -> DropReason? {
    guard let type = payload.attributesType,
      configuration.schemas.contains(where: { $0.attributesType == type })
    else { return .unknownAttributesType }
    guard let attributes = payload.attributes, let state = payload.contentState,
      payload.undecodable[type] == nil
    else { return .undecodable }
    let bytes = attributes.count + state.bytes.count
    return bytes > configuration.phones.stateLimitBytes ? .stateTooLarge : nil
  }
}

extension LiveActivity.Phase {
  /// Whether it still takes one of the app's places.
  var isRunning: Bool { self == .active || self == .stale }
}
