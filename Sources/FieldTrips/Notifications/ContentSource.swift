import JSON

/// Where a notification's texts come from, and how several items become one text.
package struct ContentSource: Sendable, Hashable {
  /// What is done when there is nothing new.
  package enum WhenEmpty: String, Sendable, CaseIterable {
    case skip, fallback
  }

  /// Names the position up to which its items were told; several notifications may share it.
  package let name: String
  package let url: ContentURL
  /// For exactly one item.
  package let one: ContentTemplate
  /// For two and more.
  package let several: ContentTemplate
  package let whenEmpty: WhenEmpty

  /// Reads `{"name", "url", "several": {"title"?, "body"}, "one"?, "whenEmpty"?}`.
  static func read(_ reader: inout ObjectReader) -> ContentSource? {
    let name = reader.string("name", isRequired: true, bytes: 1...128)
    let url = reader.identifier("url", isRequired: true) { (text) throws(IdentifierError) in
      try ContentURL(text)
    }
    let several = reader.nested("several") { ContentTemplate.read(&$0) }
    if !reader.has("several") {
      reader.add(
        .missingField, "several",
        "\"several\" is required: the text for two and more items, as "
          + "{\"body\": \"{count} new notes, last: {last.body}\"}.")
    }
    let one = reader.nested("one") { ContentTemplate.read(&$0) }
    let whenEmpty = reader.choice("whenEmpty", among: WhenEmpty.allCases.map(\.rawValue))
      .flatMap(WhenEmpty.init)
    guard let name, let url, let several else { return nil }
    return ContentSource(
      name: name, url: url, one: one ?? .oneItem, several: several, whenEmpty: whenEmpty ?? .skip)
  }
}

/// The texts that items are put into: `{count}`, `{more}` (one less), and `{first.title}`,
/// `{first.body}`, `{last.title}`, `{last.body}`. Two braces stand for one.
package struct ContentTemplate: Sendable, Hashable {
  /// Nil, or empty once filled in, keeps the title of the fallback copy.
  package let title: String?
  package let body: String

  static let names = ["count", "more", "first.title", "first.body", "last.title", "last.body"]
  static let oneItem = ContentTemplate(title: "{last.title}", body: "{last.body}")

  static func read(_ reader: inout ObjectReader) -> ContentTemplate? {
    let title = reader.string("title", bytes: 1...512)
    let body = reader.string("body", isRequired: true, bytes: 1...1_024)
    for (key, text) in [("title", title), ("body", body)] {
      guard let text, let wrong = Self.parts(of: text).lazy.compactMap(\.unknownName).first else {
        continue
      }
      reader.add(
        .badValue, key,
        "{\(wrong)} stands for nothing. Known: "
          + names.map { "{\($0)}" }.joined(separator: ", ") + "."
          + suggestion(for: wrong, among: names))
    }
    return body.map { ContentTemplate(title: title, body: $0) }
  }

  package func filled(from content: FetchedContent) -> (title: String?, body: String) {
    let title = title.map { Self.fill($0, from: content) }
    return (title?.isEmpty == false ? title : nil, Self.fill(body, from: content))
  }

  private static func fill(_ text: String, from content: FetchedContent) -> String {
    parts(of: text).map { part in
      switch part {
      case .text(let text): text
      case .name("count"): String(content.count)
      case .name("more"): String(content.count - 1)
      case .name("first.title"): content.first.title ?? ""
      case .name("first.body"): content.first.body
      case .name("last.title"): content.last.title ?? ""
      case .name("last.body"): content.last.body
      case .name(let other): "{" + other + "}"
      }
    }.joined()
  }

  private enum Part {
    case text(String)
    case name(String)

    var unknownName: String? {
      guard case .name(let name) = self, !ContentTemplate.names.contains(name) else { return nil }
      return name
    }
  }

  private static func parts(of text: String) -> [Part] {
    var parts: [Part] = []
    var plain = ""
    var rest = text[...]
    while let character = rest.popFirst() {
      guard character == "{" else {
        if character == "}", rest.first == "}" { rest.removeFirst() }
        plain.append(character)
        continue
      }
      if rest.first == "{" {
        rest.removeFirst()
        plain.append("{")
      } else if let close = rest.firstIndex(of: "}") {
        parts += [.text(plain), .name(String(rest[..<close]))]
        plain = ""
        rest = rest[rest.index(after: close)...]
      } else {
        plain.append("{")
      }
    }
    return parts + [.text(plain)]
  }
}
