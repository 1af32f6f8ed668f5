/// Terminal colours for the demo's view, or none.
package struct Ink: Sendable {
  package enum Colour: String, Sendable {
    case strong = "1"
    case faint = "2"
    case red = "31"
    case green = "32"
    case yellow = "33"
    case blue = "34"
    case cyan = "36"
    case title = "1;36"
  }

  private let isColoured: Bool

  package init(coloured: Bool) { isColoured = coloured }

  /// Lay text out first and colour it last: escape sequences take no columns, but have characters.
  package func callAsFunction(_ colour: Colour, _ text: String) -> String {
    guard isColoured, !text.isEmpty else { return text }
    return "\u{1B}[\(colour.rawValue)m\(text)\u{1B}[0m"
  }
}
