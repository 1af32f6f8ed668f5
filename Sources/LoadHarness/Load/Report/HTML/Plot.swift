/// One picture of a report: axes, lines and areas, as SVG. Colours are names that the page's style
/// sheet gives a meaning, so that the same picture is right in light and in dark.
struct Plot: Sendable {
  /// Names of colours in the style sheet.
  enum Colour: String, Sendable {
    case first = "c1"
    case second = "c2"
    case third = "c3"
    case fourth = "c4"
    case bad = "bad"
  }

  enum Layer: Sendable {
    /// A gap where the value is nil.
    case line([(x: Double, y: Double?)], Colour, isFaint: Bool)
    /// From one height to another.
    case area([(x: Double, low: Double, high: Double)], Colour)
  }

  struct Key: Sendable {
    var text: String
    var colour: Colour
    var isFaint = false
  }

  var title: String
  /// What the axes show, in a few words.
  var note: String
  var x: PlotScale
  var y: PlotScale
  var xLabel: @Sendable (Double) -> String
  var yLabel: @Sendable (Double) -> String
  var keys: [Key]
  var layers: [Layer]

  static let width = 520.0
  static let height = 240.0
  private static let left = 62.0
  private static let right = 14.0
  private static let top = 12.0
  private static let bottom = 30.0

  /// A figure with its title, legend and picture.
  func figure() -> String {
    let legend = keys.map { key in
      let faint = key.isFaint ? " faint" : ""
      return #"<span class="key"><i class="\#(key.colour.rawValue)\#(faint)"></i>"#
        + HTMLText.escaped(key.text) + "</span>"
    }
    return """
      <figure>
      <figcaption><h3>\(HTMLText.escaped(title))</h3><p>\(HTMLText.escaped(note))</p>\
      <div class="keys">\(legend.joined())</div></figcaption>
      \(svg())
      </figure>

      """
  }

  func svg() -> String {
    var parts = [
      #"<svg viewBox="0 0 \#(Self.number(Self.width)) \#(Self.number(Self.height))" role="img" "#
        + #"aria-label="\#(HTMLText.escaped(title))">"#
    ]
    parts += grid()
    parts += layers.map(drawn)
    parts.append("</svg>")
    return parts.joined(separator: "\n")
  }

  private func grid() -> [String] {
    var parts: [String] = []
    for tick in y.ticks {
      let height = Self.number(yPlace(tick))
      parts.append(
        #"<line class="grid" x1="\#(Self.number(Self.left))" "#
          + #"x2="\#(Self.number(Self.width - Self.right))" y1="\#(height)" y2="\#(height)"/>"#)
      parts.append(
        Self.text(yLabel(tick), x: Self.left - 7, y: yPlace(tick) + 4, anchor: "end"))
    }
    for tick in x.ticks {
      let isLast = xPlace(tick) > Self.width - 40
      parts.append(
        Self.text(
          xLabel(tick), x: isLast ? Self.width - 2 : xPlace(tick), y: Self.height - 8,
          anchor: isLast ? "end" : "middle"))
      if x.kind == .logarithmic {
        let place = Self.number(xPlace(tick))
        parts.append(
          #"<line class="grid" x1="\#(place)" x2="\#(place)" y1="\#(Self.number(Self.top))" "#
            + #"y2="\#(Self.number(Self.height - Self.bottom))"/>"#)
      }
    }
    return parts
  }

  private func drawn(_ layer: Layer) -> String {
    switch layer {
    case .line(let points, let colour, let isFaint):
      var path = ""
      var isDown = false
      for point in points {
        guard let y = point.y else {
          isDown = false
          continue
        }
        path += "\(isDown ? "L" : "M")\(Self.number(xPlace(point.x))) \(Self.number(yPlace(y)))"
        isDown = true
      }
      let style = "line \(colour.rawValue)" + (isFaint ? " faint" : "")
      return #"<path class="\#(style)" d="\#(path)"/>"#
    case .area(let points, let colour):
      let upper = points.map { "\(Self.number(xPlace($0.x))) \(Self.number(yPlace($0.high)))" }
      let lower = points.reversed().map {
        "\(Self.number(xPlace($0.x))) \(Self.number(yPlace($0.low)))"
      }
      guard !points.isEmpty else { return "" }
      let path = "M" + (upper + lower).joined(separator: "L") + "Z"
      return #"<path class="area \#(colour.rawValue)" d="\#(path)"/>"#
    }
  }

  private func xPlace(_ value: Double) -> Double {
    Self.left + x.place(of: value) * (Self.width - Self.left - Self.right)
  }

  private func yPlace(_ value: Double) -> Double {
    let inner = Self.height - Self.top - Self.bottom
    return Self.top + (1 - y.place(of: value)) * inner
  }

  private static func text(
    _ text: String, x: Double, y: Double, anchor: String
  ) -> String {
    #"<text class="tick" x="\#(number(x))" y="\#(number(y))" text-anchor="\#(anchor)">"#
      + HTMLText.escaped(text) + "</text>"
  }

  private static func number(_ value: Double) -> String { Text.fixed(value, decimals: 1) }
}

/// Text inside HTML.
enum HTMLText {
  /// Whatever a name holds, it stays text.
  static func escaped(_ text: String) -> String {
    var result = ""
    for character in Text.harmless(text) {
      switch character {
      case "&": result += "&amp;"
      case "<": result += "&lt;"
      case ">": result += "&gt;"
      case "\"": result += "&quot;"
      default: result.append(character)
      }
    }
    return result
  }
}
