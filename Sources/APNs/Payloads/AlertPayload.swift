public import JSON

/// The body of an ordinary push that a person sees: text, badge or sound.
///
/// At least one of the three is needed. The caller's own members travel beside `aps`, byte for
/// byte.
///
/// - SeeAlso: Apple, "Generating a remote notification".
public struct AlertPayload: PushPayload {
  /// A text, or the name of one in the app.
  public enum Text: Sendable, Hashable {
    /// Shown as it is.
    case plain(String)
    /// A key of the app's strings file; the arguments replace its `%@` in order.
    case localized(key: String, arguments: [String] = [])
  }

  /// What is heard.
  public enum Sound: Sendable, Hashable {
    /// A file in the app, or `default`.
    case named(String)
    /// Heard in spite of Focus and the mute switch; the app needs Apple's leave.
    ///
    /// - Parameter volume: 0 to 1.
    case critical(name: String = "default", volume: Double = 1)
  }

  /// How much it disturbs.
  public enum InterruptionLevel: String, Sendable, CaseIterable {
    case passive
    case active
    case timeSensitive = "time-sensitive"
    case critical
  }

  public let type = PushType.alert
  /// The first line.
  public var title: Text?
  /// The second line.
  public var subtitle: Text?
  /// The text itself.
  public var body: Text?
  /// The image that the app shows when it is opened by this push.
  public var launchImage: String?
  /// 0 takes the badge away.
  public var badge: Int?
  /// None: it makes no sound.
  public var sound: Sound?
  /// Groups what belongs together.
  public var threadID: String?
  /// A category that the app registered: the buttons beneath the text.
  public var category: String?
  /// Runs the app's notification service extension before it is shown.
  public var isMutable = false
  /// The window that is brought forward.
  public var targetContentID: String?
  /// Nil is as `active`. `timeSensitive` needs a capability of the app, `critical` Apple's leave.
  public var interruptionLevel: InterruptionLevel?
  /// 0 to 1: the place in the notification summary.
  public var relevance: Double?
  /// Compared with the filter of the present Focus.
  public var filterCriteria: String?
  /// Members beside `aps`, in this order. Each key once, and none is `aps`.
  public var custom: [(key: String, value: JSONText)] = []

  /// An alert with a text; everything else is set afterwards.
  public init(title: Text? = nil, body: Text? = nil) {
    self.title = title
    self.body = body
  }

  /// The bytes to send: at most 4,096.
  public func encoded() throws(PayloadError) -> [UInt8] {
    try validate()
    return try encodedObject(for: type, reservingCapacity: 512) {
      $0.key("aps")
      $0.object { writeMembers(to: &$0) }
      for member in custom { $0.member(member.key, member.value) }
    }
  }

  private var hasText: Bool { title != nil || subtitle != nil || body != nil }

  private func validate() throws(PayloadError) {
    guard hasText || badge != nil || sound != nil else {
      throw .conflict("An alert needs a text, a badge or a sound; otherwise nobody notices it.")
    }
    if isMutable && !hasText {
      throw .conflict("mutable-content has an effect only on a push with a text.")
    }
    if let badge, badge < 0 { throw .outOfRange(name: "badge", allowed: "0 or more") }
    if let relevance, !(0...1).contains(relevance) {
      throw .outOfRange(name: "relevance-score", allowed: "0 to 1")
    }
    if case .critical(_, let volume) = sound, !(0...1).contains(volume) {
      throw .outOfRange(name: "volume", allowed: "0 to 1")
    }
    var keys: Set<String> = ["aps"]
    for member in custom where !keys.insert(member.key).inserted {
      throw .conflict("The member \"\(member.key)\" stands twice beside aps, or is aps itself.")
    }
  }

  private func writeMembers(to writer: inout JSONWriter) {
    if hasText {
      writer.key("alert")
      writer.object { writeAlert(to: &$0) }
    }
    if let badge { writer.member("badge", badge) }
    writeSound(to: &writer)
    if let threadID { writer.member("thread-id", threadID) }
    if let category { writer.member("category", category) }
    if isMutable { writer.member("mutable-content", 1) }
    if let targetContentID { writer.member("target-content-id", targetContentID) }
    if let interruptionLevel { writer.member("interruption-level", interruptionLevel.rawValue) }
    if let relevance {
      writer.key("relevance-score")
      writer.double(relevance)
    }
    if let filterCriteria { writer.member("filter-criteria", filterCriteria) }
  }

  /// Ordinary alerts name localised texts flatly (`title-loc-key`); the body's have no prefix.
  private func writeAlert(to writer: inout JSONWriter) {
    Self.write(title, "title", "title-loc-key", "title-loc-args", to: &writer)
    Self.write(subtitle, "subtitle", "subtitle-loc-key", "subtitle-loc-args", to: &writer)
    Self.write(body, "body", "loc-key", "loc-args", to: &writer)
    if let launchImage { writer.member("launch-image", launchImage) }
  }

  private static func write(
    _ text: Text?, _ plainKey: String, _ locKey: String, _ locArguments: String,
    to writer: inout JSONWriter
  ) {
    switch text {
    case nil: break
    case .plain(let text): writer.member(plainKey, text)
    case .localized(let key, let arguments):
      writer.member(locKey, key)
      guard !arguments.isEmpty else { return }
      writer.key(locArguments)
      writer.array { for argument in arguments { $0.string(argument) } }
    }
  }

  private func writeSound(to writer: inout JSONWriter) {
    switch sound {
    case nil: break
    case .named(let name): writer.member("sound", name)
    case .critical(let name, let volume):
      writer.key("sound")
      writer.object {
        $0.member("critical", 1)
        $0.member("name", name)
        $0.key("volume")
        $0.double(volume)
      }
    }
  }
}

/// The body of a push that wakes the app without showing anything.
public struct BackgroundPayload: PushPayload {
  public let type = PushType.background
  /// Members beside `aps`, in this order. Each key once, and none is `aps`.
  public var custom: [(key: String, value: JSONText)]

  /// A silent push, with what the app is to know.
  public init(custom: [(key: String, value: JSONText)] = []) { self.custom = custom }

  /// The bytes to send: at most 4,096.
  public func encoded() throws(PayloadError) -> [UInt8] {
    var keys: Set<String> = ["aps"]
    for member in custom where !keys.insert(member.key).inserted {
      throw .conflict("The member \"\(member.key)\" stands twice beside aps, or is aps itself.")
    }
    return try encodedObject(for: type) {
      $0.key("aps")
      $0.object { $0.member("content-available", 1) }
      for member in custom { $0.member(member.key, member.value) }
    }
  }
}
