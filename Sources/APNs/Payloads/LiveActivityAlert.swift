import JSON

/// What lights up the phone along with a Live Activity's start, update or end.
///
/// Title and body are both needed: without one of them the phone does not treat it as an alert.
public struct LiveActivityAlert: Sendable, Hashable {
  /// A text, or the name of one in the app.
  public enum Text: Sendable, Hashable {
    case plain(String)
    /// A key of the app's strings file; the arguments replace its `%@` in order.
    case localized(key: String, arguments: [String] = [])

    var isEmpty: Bool {
      switch self {
      case .plain(let text): text.isEmpty
      case .localized(let key, _): key.isEmpty
      }
    }
  }

  /// The first line.
  public var title: Text
  /// The text itself.
  public var body: Text
  /// A sound file of the app, or `default`. None: no sound.
  public var sound: String?

  /// Title and body, neither of them empty.
  public init(title: Text, body: Text, sound: String? = nil) {
    self.title = title
    self.body = body
    self.sound = sound
  }

  func validate() throws(PayloadError) {
    if title.isEmpty || body.isEmpty { throw .incompleteAlert }
  }

  /// The nested form of localisation (`loc-key` inside `title`) is that of Live Activities; ordinary
  /// alerts have another one.
  func write(to writer: inout JSONWriter) {
    writer.key("alert")
    writer.object {
      Self.write("title", title, to: &$0)
      Self.write("body", body, to: &$0)
      if let sound { $0.member("sound", sound) }
    }
  }

  private static func write(_ key: String, _ text: Text, to writer: inout JSONWriter) {
    switch text {
    case .plain(let text): writer.member(key, text)
    case .localized(let locKey, let arguments):
      writer.key(key)
      writer.object {
        $0.member("loc-key", locKey)
        if !arguments.isEmpty {
          $0.key("loc-args")
          $0.array { for argument in arguments { $0.string(argument) } }
        }
      }
    }
  }
}
