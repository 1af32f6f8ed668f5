internal import APNs
internal import Clocks
internal import FieldTrips
internal import JSON
internal import TripStore

/// One device that a notification is for.
struct NotificationLetter: Sendable {
  let person: PersonID
  let token: RegisteredToken
  /// Where it is sent to.
  let environment: AppID.Environment
  /// A digest of the token, by which the device is marked.
  let device: String

  init(_ person: PersonID, _ token: RegisteredToken, environment: AppID.Environment? = nil) {
    self.person = person
    self.token = token
    self.environment = environment ?? token.environment
    device = String(SHA256Text.of(Array(token.token.hex.utf8)).prefix(22))
  }

  /// The `apns-id` of a notification to this device, the same whenever it is sent.
  func apnsID(of notification: NotificationID) -> String {
    TripID(digestOf: notification.text + " " + token.token.hex).text
  }
}

extension AppGateway {
  /// Sends a notification to many devices.
  ///
  /// - Returns: an answer for each, in their order.
  func notify(
    _ push: Push, _ id: NotificationID, to letters: [NotificationLetter]
  ) async -> [TokenPushAnswer] {
    await answers(to: letters.map(\.token.token)) { known, places in
      await client.push(
        zip(known, places).map { AddressedPush(push, to: $0, id: letters[$1].apnsID(of: id)) },
        deadline: Self.pushes)
    }
  }
}

extension Push {
  /// What a request, and what was fetched for it, make on the wire.
  ///
  /// - Throws: ``PayloadError`` or ``PushRuleError``.
  init(_ request: NotificationRequest, _ id: NotificationID, content: FetchedContent?) throws {
    // Fetched texts are cut before they are given up: a part of the news is better than none.
    for limit in [700, 300, 100] {
      do {
        self = try Push(
          request, id, with: request.content(with: content?.shortened(toBytes: limit)))
        return
      } catch PayloadError.tooLarge where content != nil {}
    }
    self = try Push(request, id, with: request.content)
  }

  private init(
    _ request: NotificationRequest, _ id: NotificationID, with content: NotificationContent
  ) throws {
    let expiration: PushExpiration? =
      request.isAttemptedOnce ? .attemptOnce : request.expiresAt.map { .until($0) }
    let priority = request.priority.flatMap { PushPriority(rawValue: UInt8($0)) }
    switch request.kind {
    case .alert:
      self = try Push(
        AlertPayload(content, custom: request.custom), priority: priority, expiration: expiration,
        // By its own, a copy that is sent because the first one's answer was lost replaces that.
        collapseID: request.collapseID ?? (request.mayBeRepeated ? id.text : nil))
    case .background:
      self = try Push(
        BackgroundPayload(custom: request.custom), priority: priority, expiration: expiration,
        collapseID: request.collapseID)
    case .widget:
      self = try Push(
        WidgetPayload(), priority: priority, expiration: expiration,
        collapseID: request.collapseID)
    }
  }
}

extension NotificationRequest {
  /// The texts of the request, or those that its source gave.
  fileprivate func content(with fetched: FetchedContent?) -> NotificationContent {
    guard let fetched, let source else { return content }
    var content = content
    let texts = (fetched.count == 1 ? source.one : source.several).filled(from: fetched)
    if let title = texts.title { content.title = .plain(title) }
    content.body = .plain(texts.body)
    return content
  }
}

extension AlertPayload {
  fileprivate init(
    _ content: NotificationContent, custom: [(key: String, value: JSONText)]
  ) {
    self.init(title: content.title.map(Text.init), body: content.body.map(Text.init))
    subtitle = content.subtitle.map(Text.init)
    launchImage = content.launchImage
    badge = content.badge
    sound =
      switch content.sound {
      case nil: nil
      case .named(let name): .named(name)
      case .critical(let name, let volume): .critical(name: name, volume: volume)
      }
    threadID = content.threadID
    category = content.category
    isMutable = content.isMutable
    targetContentID = content.targetContentID
    interruptionLevel = content.interruptionLevel.flatMap(InterruptionLevel.init)
    relevance = content.relevance
    filterCriteria = content.filterCriteria
    self.custom = custom
  }
}

extension AlertPayload.Text {
  fileprivate init(_ text: NotificationText) {
    switch text {
    case .plain(let text): self = .plain(text)
    case .localized(let key, let arguments): self = .localized(key: key, arguments: arguments)
    }
  }
}
