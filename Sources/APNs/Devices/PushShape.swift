import HTTP
import Transport

/// What pushes have in common whose heads differ in values only. There are few of these, whatever
/// collapse IDs and expirations a caller uses.
struct PushShape: Hashable, Sendable {
  let type: PushType
  let priority: PushPriority
  /// Of ``PushType/mdm``.
  let ownTopic: String?
  let hasID: Bool
  let expiration: ExpirationField
  let hasCollapseID: Bool

  enum ExpirationField: Hashable, Sendable {
    case absent
    /// `0`, which is the same for all.
    case zero
    case given
  }

  init(_ options: PushOptions, hasID: Bool) {
    type = options.type
    priority = options.priority
    ownTopic = options.ownTopic
    self.hasID = hasID
    expiration =
      switch options.expiration {
      case .attemptOnce: .zero
      case .until: .given
      case .longest: .absent
      }
    hasCollapseID = options.collapseID != nil
  }

  /// The head of such pushes. What differs from one to the next stays out of the table by which
  /// HTTP/2 abbreviates fields, as Apple asks: it would push out what comes again.
  func template(app: BundleID, authority: String) -> CachedTemplate {
    let topic = ownTopic ?? app.text + type.topicSuffix
    var stable: HTTPFields = [
      "apns-topic": topic, "apns-push-type": type.rawValue, "apns-priority": priority.text,
    ]
    var volatile: [String] = []
    if hasID { volatile.append("apns-id") }
    switch expiration {
    case .absent: break
    case .zero: stable.append("apns-expiration", "0")
    case .given: volatile.append("apns-expiration")
    }
    if hasCollapseID { volatile.append("apns-collapse-id") }
    return .ofPushes(authority: authority, fields: stable, volatile: volatile)
  }
}

extension PushOptions {
  /// The values of one push's head, in the order of its shape's template.
  func values(to token: DeviceToken, id: String?) -> FieldValues {
    var values = FieldValues(token.path)
    if let id { values.append(id) }
    if case .until(let time) = expiration { values.append(String(time.wholeSeconds)) }
    if let collapseID { values.append(collapseID) }
    // All of them were looked at: the token and these options when they were made, the ID as part
    // of the push.
    values.areChecked = true
    return values
  }
}

extension CachedTemplate {
  /// The head of pushes whose path comes with each of them.
  static func ofPushes(
    authority: String, fields stable: HTTPFields, volatile: [String]
  ) -> CachedTemplate {
    CachedTemplate { authorization throws(ExchangeFailure) in
      var fields = stable
      fields["authorization"] = authorization
      return try RequestTemplate(
        method: "POST", authority: authority, path: nil, fields: fields, volatile: volatile)
    }
  }
}

/// Heads of the shapes that a client has met; may be asked from any thread.
final class PushShapes: Sendable {
  private struct State {
    var heads: [PushShape: CachedTemplate] = [:]
    /// The one that was asked for last is asked for again most of the time.
    var latest: (shape: PushShape, head: CachedTemplate)?
  }

  private let app: BundleID
  private let authority: String
  private let state = Lock(State())

  init(app: BundleID, authority: String) {
    self.app = app
    self.authority = authority
  }

  func head(of options: PushOptions, hasID: Bool) -> CachedTemplate {
    head(of: PushShape(options, hasID: hasID))
  }

  func head(of shape: PushShape) -> CachedTemplate {
    state.withLock { state in
      if let latest = state.latest, latest.shape == shape { return latest.head }
      let head = state.heads[shape] ?? shape.template(app: app, authority: authority)
      state.heads[shape] = head
      state.latest = (shape, head)
      return head
    }
  }
}
