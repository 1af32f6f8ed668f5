import JSON

/// A text of a notification, or the name of one in the app.
package enum NotificationText: Sendable, Hashable {
  case plain(String)
  /// A key of the app's strings file; the arguments replace its `%@` in order.
  case localized(key: String, arguments: [String])
}

/// What a person notices of a push, in the words of Apple's payload.
package struct NotificationContent: Sendable, Hashable {
  package enum Sound: Sendable, Hashable {
    /// A file in the app, or `default`.
    case named(String)
    /// Heard in spite of Focus and the mute switch; volume 0 to 1.
    case critical(name: String, volume: Double)
  }

  package var title: NotificationText?
  package var subtitle: NotificationText?
  package var body: NotificationText?
  package var launchImage: String?
  package var badge: Int?
  package var sound: Sound?
  package var threadID: String?
  package var category: String?
  package var targetContentID: String?
  /// `passive`, `active`, `time-sensitive` or `critical`.
  package var interruptionLevel: String?
  /// 0 to 1.
  package var relevance: Double?
  package var filterCriteria: String?
  package var isMutable = false

  package var hasText: Bool { title != nil || subtitle != nil || body != nil }
  package var isNoticed: Bool { hasText || badge != nil || sound != nil }
}

extension ObjectReader {
  /// All members of a request that speak of what is noticed.
  mutating func notificationContent() -> NotificationContent {
    var content = NotificationContent()
    nestedTexts(into: &content)
    content.badge = integer("badge", in: 0...Int64(Int32.max)).map { Int($0) }
    content.sound = sound()
    content.threadID = string("threadID", bytes: 1...512)
    content.category = string("category", bytes: 1...512)
    content.targetContentID = string("targetContentID", bytes: 1...1_024)
    content.interruptionLevel = choice(
      "interruptionLevel", among: ["passive", "active", "time-sensitive", "critical"])
    content.relevance = fraction("relevance")
    content.filterCriteria = string("filterCriteria", bytes: 1...1_024)
    content.isMutable = bool("mutableContent") ?? false
    return content
  }

  private mutating func nestedTexts(into content: inout NotificationContent) {
    let texts = nested("alert") { (reader) -> NotificationContent? in
      var content = NotificationContent()
      content.title = reader.notificationText("title")
      content.subtitle = reader.notificationText("subtitle")
      content.body = reader.notificationText("body")
      content.launchImage = reader.string("launchImage", bytes: 1...512)
      return content
    }
    if let texts { content = texts }
  }

  /// `"text"` or `{"key": "NEW_NOTES", "arguments": ["3"]}`.
  private mutating func notificationText(_ key: String) -> NotificationText? {
    guard has(key), case .object? = value(key) else {
      return string(key, bytes: 1...4_096).map { .plain($0) }
    }
    return nested(key) { reader in
      let name = reader.string("key", isRequired: true, bytes: 1...512)
      var arguments: [String] = []
      if let list = reader.value("arguments") {
        let texts = list.array?.compactMap(\.string)
        if let texts, texts.count == list.array?.count, texts.count <= 32 {
          arguments = texts
        } else {
          reader.add(.wrongType, "arguments", "Expected an array of at most 32 strings.")
        }
      }
      return name.map { .localized(key: $0, arguments: arguments) }
    }
  }

  /// `"bird.caf"`, or `{"name": "bird.caf", "critical": true, "volume": 0.8}`.
  private mutating func sound() -> NotificationContent.Sound? {
    guard has("sound"), case .object? = value("sound") else {
      return string("sound", bytes: 1...256).map { .named($0) }
    }
    return nested("sound") { reader in
      let name = reader.string("name", bytes: 1...256) ?? "default"
      let isCritical = reader.bool("critical") ?? false
      let volume = reader.fraction("volume")
      if !isCritical, volume != nil {
        reader.add(.badValue, "volume", "Only a critical sound has a volume.")
      }
      return isCritical ? .critical(name: name, volume: volume ?? 1) : .named(name)
    }
  }

  private mutating func fraction(_ key: String) -> Double? {
    guard let value = value(key) else { return nil }
    guard let number = value.double, (0...1).contains(number) else {
      add(.badValue, key, "Expected a number from 0 to 1, found \(found(value)).")
      return nil
    }
    return number
  }
}
