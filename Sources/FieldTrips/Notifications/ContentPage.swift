import JSON

/// One thing that a content source has to tell.
package struct ContentItem: Sendable, Hashable {
  package let title: String?
  package let body: String

  /// More is cut: a notification shows a few lines.
  static let longestText = 700

  package init(title: String?, body: String) {
    self.title = title.map { cut(Self.harmless($0), toBytes: Self.longestText) }
    self.body = cut(Self.harmless(body), toBytes: Self.longestText)
  }

  /// A stranger's text: line breaks stay, other controls go.
  private static func harmless(_ text: String) -> String {
    String(String.UnicodeScalarView(text.unicodeScalars.filter { isPrintable($0) || $0 == "\n" }))
  }

  func shortened(toBytes limit: Int) -> ContentItem {
    ContentItem(title: title.map { cut($0, toBytes: limit) }, body: cut(body, toBytes: limit))
  }
}

/// What a content source answers: `{"items": [{"title"?, "body"}], "cursor", "more"?}`.
///
/// The cursor stands behind the last item of the page. It is the source's own affair, up to 512
/// bytes, and is sent back as `after` once the push with the items was accepted.
package struct ContentPage: Sendable, Hashable {
  package let items: [ContentItem]
  package let cursor: String?
  package let hasMore: Bool

  package static let bytesLimit = 262_144
  package static let itemsLimit = 100

  /// - Throws: what is wrong with the answer; members that are not known are left alone, since the
  ///   source may say more to others.
  package static func read(_ bytes: [UInt8]) throws(Refusal) -> ContentPage {
    let value: JSONValue
    do throws(JSONError) {
      value = try JSONValue.parse(bytes, limits: JSONLimits(maxBytes: bytesLimit))
    } catch {
      throw Refusal(error)
    }
    guard let list = value["items"]?.array else {
      throw Refusal(Problem(.missingField, at: "/items", "Expected an array \"items\"."))
    }
    guard list.count <= itemsLimit else {
      throw Refusal(
        Problem(
          .tooLarge, at: "/items",
          "Expected at most \(itemsLimit) items a page, found \(list.count)."))
    }
    var items: [ContentItem] = []
    for (index, item) in list.enumerated() {
      guard let body = item["body"]?.string, !body.isEmpty else {
        throw Refusal(
          Problem(.missingField, at: "/items/\(index)/body", "Expected a text that is not empty."))
      }
      items.append(ContentItem(title: item["title"]?.string, body: body))
    }
    let cursor = value["cursor"]?.string
    guard cursor.map({ (1...512).contains($0.utf8.count) }) ?? items.isEmpty else {
      throw Refusal(
        Problem(
          .badValue, at: "/cursor",
          "Expected a string of 1 to 512 bytes: the position behind the page's last item."))
    }
    return ContentPage(items: items, cursor: cursor, hasMore: value["more"]?.bool ?? false)
  }
}

/// Everything new at a content source, pages taken together: as much as a text can say of it.
package struct FetchedContent: Sendable, Hashable {
  package private(set) var count: Int
  package private(set) var first: ContentItem
  package private(set) var last: ContentItem
  /// Where the fetch began: nil at the source's beginning.
  package let from: String?
  /// Behind the last item.
  package private(set) var to: String

  /// - Parameter page: of at least one item.
  package init?(_ page: ContentPage, after from: String?) {
    guard let first = page.items.first, let last = page.items.last, let to = page.cursor else {
      return nil
    }
    count = page.items.count
    self.first = first
    self.last = last
    self.from = from
    self.to = to
  }

  package mutating func add(_ page: ContentPage) {
    count += page.items.count
    last = page.items.last ?? last
    to = page.cursor ?? to
  }

  package func shortened(toBytes limit: Int) -> FetchedContent {
    var content = self
    content.first = first.shortened(toBytes: limit)
    content.last = last.shortened(toBytes: limit)
    return content
  }
}

extension FetchedContent {
  /// Reads what ``json`` wrote.
  init?(_ value: JSONValue) {
    guard let count = value["count"]?.int64, let first = ContentItem(value["first"]),
      let last = ContentItem(value["last"]), let to = value["to"]?.string
    else { return nil }
    self.count = Int(count)
    self.first = first
    self.last = last
    self.to = to
    from = value["from"]?.string
  }

  var json: JSONValue {
    var object: JSONObject = [
      "count": .number(JSONNumber(Int64(count))), "first": first.json, "last": last.json,
      "to": .string(to),
    ]
    if let from { object["from"] = .string(from) }
    return .object(object)
  }
}

extension ContentItem {
  fileprivate init?(_ value: JSONValue?) {
    guard let body = value?["body"]?.string else { return nil }
    self.init(title: value?["title"]?.string, body: body)
  }

  fileprivate var json: JSONValue {
    var object: JSONObject = ["body": .string(body)]
    if let title { object["title"] = .string(title) }
    return .object(object)
  }
}
