package import Clocks
package import JSON

/// A checked `POST /v1/notifications`: what to tell whom, and when.
package struct NotificationRequest: Sendable {
  package enum Kind: String, Sendable, CaseIterable {
    /// What a person sees or hears.
    case alert
    /// Wakes the app, and shows nothing.
    case background
    /// Reloads the app's widgets, and carries nothing.
    case widget
  }

  /// Who gets it: all devices of each person, each device once.
  package enum Recipient: Sendable, Hashable {
    case member(MemberID)
    /// One device that was registered without a member's name, by the name that it was given then.
    case device(DeviceID)
    /// All members, as they are when it is sent.
    case trip(TripID)
    /// Members of a trip that is on, whose phones show no card and were asked to start none.
    case withoutCard(TripID)

    /// Whether more devices may come to it while it is being sent.
    package var mayGrow: Bool { if case .withoutCard = self { true } else { false } }
  }

  package let kind: Kind
  package let recipient: Recipient
  /// Nil means the trip's app, or the service's first one.
  package let bundleID: String?
  /// Nil sends at once.
  package let sendAt: UnixTime?
  /// APNs keeps it until then; nil leaves that to APNs. Nothing is sent or repeated after it.
  package let expiresAt: UnixTime?
  /// APNs tries once, and keeps nothing.
  package let isAttemptedOnce: Bool
  /// 10, 5 or 1; nil for the kind's usual one.
  package let priority: Int?
  package let collapseID: String?
  package let content: NotificationContent
  /// The caller's own members beside `aps`, byte for byte.
  package let custom: [(key: String, value: JSONText)]
  package let source: ContentSource?
  /// As it came: what is stored, and read again when it is due.
  package let bytes: [UInt8]

  /// No more is taken, though a payload of 4,096 bytes fits in several spellings.
  package static let bytesLimit = 16_384
  /// How far ahead one may be scheduled.
  package static let longestAhead = Duration.seconds(90 * 86_400)

  package var trip: TripID? {
    switch recipient {
    case .member, .device: nil
    case .trip(let trip), .withoutCard(let trip): trip
    }
  }

  /// Whether a device may be sent it once more if it is not known whether it got it: a second alert
  /// replaces the first by its collapse ID, and a second reload or wake-up does no harm.
  package var mayBeRepeated: Bool { !isAttemptedOnce }

  /// When it is to go out, if it was taken in at `now`.
  package func sendAt(from now: UnixTime) -> UnixTime { max(sendAt ?? now, now) }
}

extension NotificationRequest {
  /// Reads `{"to": {"member"}, {"device"} or {"trip", "only"?}, "kind"?, "alert"?, "sound"?, "badge"?, …}`.
  ///
  /// - Parameter now: times are held against it; nil for what was checked before.
  /// - Throws: every problem of every member.
  package static func read(
    _ bytes: [UInt8], now: UnixTime?
  ) throws(Refusal) -> NotificationRequest {
    let text: JSONText
    do throws(JSONError) {
      text = try JSONText(validating: bytes, limits: JSONLimits(maxBytes: bytesLimit))
    } catch {
      throw Refusal(error)
    }
    var reader = ObjectReader(text.value)
    let kind =
      reader.choice("kind", among: Kind.allCases.map(\.rawValue)).flatMap(Kind.init) ?? .alert
    let recipient = reader.recipient()
    let bundleID = reader.string("bundleID", bytes: 1...155)
    let sendAt = reader.date("sendAt")
    let expiresAt = reader.date("expiresAt")
    let isAttemptedOnce = reader.bool("attemptOnce") ?? false
    let priority = reader.priority(of: kind)
    let collapseID = reader.string("collapseID", bytes: 1...64)
    let content = reader.notificationContent()
    let custom = reader.custom(in: text)
    let source = reader.nested("source") { ContentSource.read(&$0) }
    if let now { reader.check(sendAt: sendAt, expiresAt: expiresAt, isAttemptedOnce, now: now) }
    reader.check(kind, content, hasSource: reader.has("source"), hasCustom: reader.has("custom"))
    if let refusal = Refusal(reader.finish()) { throw refusal }
    guard let recipient else { preconditionFailure("a request without problems has a recipient") }
    return NotificationRequest(
      kind: kind, recipient: recipient, bundleID: bundleID, sendAt: sendAt, expiresAt: expiresAt,
      isAttemptedOnce: isAttemptedOnce, priority: priority, collapseID: collapseID,
      content: content, custom: custom, source: source, bytes: bytes)
  }
}

extension ObjectReader {
  fileprivate mutating func recipient() -> NotificationRequest.Recipient? {
    guard value("to", isRequired: true) != nil else { return nil }
    return nested("to") { (reader) -> NotificationRequest.Recipient? in
      let member = reader.id("member", as: MemberID.self)
      let trip = reader.identifier("trip") { (text) throws(IdentifierError) in try TripID(text) }
      let device = reader.identifier("device") { (text) throws(IdentifierError) in
        try DeviceID(text)
      }
      let only = reader.choice("only", among: ["withoutCard"])
      let named = ["member", "device", "trip"].filter { reader.has($0) }
      guard named.count == 1 else {
        reader.add(
          .badValue, "member", "Name either a \"member\", a \"device\" or a \"trip\".")
        return nil
      }
      if only != nil, named != ["trip"] {
        reader.add(.badValue, "only", "\"only\" narrows a trip's members.")
      }
      if let trip { return only == nil ? .trip(trip) : .withoutCard(trip) }
      return member.map { .member($0) } ?? device.map { .device($0) }
    }
  }

  fileprivate mutating func priority(of kind: NotificationRequest.Kind) -> Int? {
    guard let number = integer("priority", in: 1...10) else { return nil }
    let allowed: [Int64] = kind == .background ? [5] : [10, 5, 1]
    guard allowed.contains(number) else {
      let all = allowed.map(String.init).joined(separator: ", ")
      add(.badValue, "priority", "A push of kind \(kind) has priority \(all), not \(number).")
      return nil
    }
    return Int(number)
  }

  /// Members of `custom`, as their bytes are in the text.
  fileprivate mutating func custom(in text: JSONText) -> [(key: String, value: JSONText)] {
    guard object("custom") != nil, let slice = text.root["custom"] else { return [] }
    var members: [(key: String, value: JSONText)] = []
    for member in slice.members {
      if member.key == "aps" {
        add(.badValue, "custom", "\"aps\" cannot be among them: it is made from the rest.")
      } else {
        members.append((member.key, member.value.text))
      }
    }
    return members
  }

  fileprivate mutating func check(
    sendAt: UnixTime?, expiresAt: UnixTime?, _ isAttemptedOnce: Bool, now: UnixTime
  ) {
    if let sendAt {
      let ahead = sendAt - now
      if ahead < .seconds(-300) {
        add(
          .badTime, "sendAt",
          "\(DateText.format(sendAt)) was \((.zero - ahead).inWholeSeconds) s ago: leave it out "
            + "to send at once.")
      } else if ahead > NotificationRequest.longestAhead {
        add(
          .badTime, "sendAt",
          "\(DateText.format(sendAt)) is \(ahead.inWholeSeconds) s ahead, over the limit of "
            + "\(NotificationRequest.longestAhead.inWholeSeconds).")
      }
    }
    guard let expiresAt else { return }
    if isAttemptedOnce {
      add(.badValue, "expiresAt", "What is attempted once is not kept: leave one of the two out.")
    } else if expiresAt <= max(sendAt ?? now, now) {
      add(
        .badTime, "expiresAt", "\(DateText.format(expiresAt)) is not after the time of sending.")
    }
  }

  fileprivate mutating func check(
    _ kind: NotificationRequest.Kind, _ content: NotificationContent, hasSource: Bool,
    hasCustom: Bool
  ) {
    switch kind {
    case .alert:
      if hasSource, content.body == nil, problems.isEmpty {
        add(
          .missingField, "alert",
          "With a \"source\", \"alert\" has the text for when it cannot be fetched: give a \"body\"."
        )
      } else if !content.isNoticed, problems.isEmpty {
        add(.missingField, "alert", "An alert has a text, a badge or a sound.")
      }
      if content.isMutable, !content.hasText {
        add(.badValue, "mutableContent", "It has an effect only with a text in \"alert\".")
      }
    case .background, .widget:
      for key in ["alert", "badge", "sound", "mutableContent", "source"] where has(key) {
        add(.badValue, key, "A push of kind \(kind) shows nothing: leave this out.")
      }
      if kind == .widget, hasCustom {
        add(.badValue, "custom", "A push of kind widget carries nothing: leave this out.")
      }
    }
  }
}
