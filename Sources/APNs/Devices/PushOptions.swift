public import Clocks

/// How long APNs may keep a push for a device that it cannot reach: the `apns-expiration` field.
public enum PushExpiration: Sendable, Hashable {
  /// One attempt, nothing is kept.
  case attemptOnce
  /// Kept and tried again until then; APNs cuts it to 30 days.
  case until(UnixTime)
  /// The field is left out: APNs keeps the push for 30 days.
  case longest

  var text: String? {
    switch self {
    case .attemptOnce: "0"
    case .until(let time): String(time.wholeSeconds)
    case .longest: nil
    }
  }
}

/// Why a push cannot be as it was asked for. The rule is Apple's.
public enum PushRuleError: Error, Sendable, Equatable, CustomStringConvertible {
  case priority(PushType, PushPriority)
  case collapseIDTooLong(bytes: Int)
  case unusableCollapseID
  /// Pushes to devices under management have a certificate's UID as their topic, others have none
  /// of their own.
  case topic(PushType)
  case unusableTopic
  case unusableExpiration
  /// An `apns-id` or `apns-request-id` that is no UUID in lower case.
  case unusableID
  /// Apple takes this type from connections with tokens only.
  case needsToken(PushType)

  public var description: String {
    switch self {
    case .priority(let type, let priority):
      let allowed = type.priorities.map(\.text).joined(separator: " or ")
      return "A push of type \(type.rawValue) has priority \(allowed), not \(priority.text)."
    case .collapseIDTooLong(let bytes):
      return "The collapse ID has \(bytes) bytes, \(bytes - PushOptions.collapseIDLimitBytes) over "
        + "APNs' limit of \(PushOptions.collapseIDLimitBytes)."
    case .unusableCollapseID:
      return "A collapse ID must not be empty, and holds no control characters and no blanks at "
        + "its ends."
    case .topic(.mdm):
      return "A push of type mdm needs its topic: the UID in the MDM push certificate."
    case .topic(let type):
      return "The topic of type \(type.rawValue) follows from the bundle ID; leave it out."
    case .unusableTopic: return "The topic holds characters that no topic has."
    case .unusableExpiration: return "An expiration lies in the past of 1970."
    case .unusableID:
      return "The ID of a request must be a UUID in lower case, as "
        + "123e4567-e89b-12d3-a456-42665544000a."
    case .needsToken(let type):
      return "A push of type \(type.rawValue) cannot be sent with a certificate; use a signing key."
    }
  }
}

/// Everything about a push but its device and its payload; the same for a whole fan-out.
///
/// A value of this type can be sent: what Apple's rules exclude is refused when it is made.
public struct PushOptions: Sendable, Hashable {
  /// Apple's limit.
  public static let collapseIDLimitBytes = 64

  /// What kind of push it is.
  public let type: PushType
  /// What it may cost the device.
  public let priority: PushPriority
  /// How long APNs may keep it.
  public let expiration: PushExpiration
  /// Later pushes with the same one replace what is displayed of earlier ones.
  public let collapseID: String?
  /// For ``PushType/mdm`` only.
  let ownTopic: String?

  /// - Parameters:
  ///   - priority: nil for the type's usual one: 5 for ``PushType/background``, 10 for others.
  ///   - expiration: nil for the type's usual one: ``PushExpiration/attemptOnce`` for calls, which
  ///     are over before they could be repeated, ``PushExpiration/longest`` for others.
  ///   - collapseID: at most 64 bytes of UTF-8.
  ///   - topic: for ``PushType/mdm``, and only for that.
  public init(
    _ type: PushType, priority: PushPriority? = nil, expiration: PushExpiration? = nil,
    collapseID: String? = nil, topic: String? = nil
  ) throws(PushRuleError) {
    let priority = priority ?? type.priorities[0]
    let expiration = expiration ?? (type.isCall ? .attemptOnce : .longest)
    guard type.priorities.contains(priority) else { throw .priority(type, priority) }
    guard (topic != nil) == (type == .mdm) else { throw .topic(type) }
    if let topic {
      guard !topic.isEmpty, topic.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else {
        throw .unusableTopic
      }
    }
    if let collapseID { try Self.check(collapseID: collapseID) }
    if case .until(let time) = expiration, time.wholeSeconds <= 0 { throw .unusableExpiration }
    self.type = type
    self.priority = priority
    self.expiration = expiration
    self.collapseID = collapseID
    ownTopic = topic
  }

  private static func check(collapseID: String) throws(PushRuleError) {
    let bytes = Array(collapseID.utf8)
    guard bytes.count <= collapseIDLimitBytes else { throw .collapseIDTooLong(bytes: bytes.count) }
    let isPlain = bytes.allSatisfy { $0 >= 0x20 && $0 != 0x7F }
    guard isPlain, let first = bytes.first, let last = bytes.last, first != 0x20, last != 0x20
    else { throw .unusableCollapseID }
  }

  func topic(of app: BundleID) -> String { ownTopic ?? app.text + type.topicSuffix }
}
