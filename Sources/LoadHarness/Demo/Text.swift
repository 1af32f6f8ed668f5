/// Numbers, spans and columns as a person reads them.
///
/// Foundation could format these too, at the price of loading it; and it cannot count columns.
package enum Text {
  /// A number with so many decimals, rounded to nearest: `fixed(2.345, decimals: 1)` is `2.3`.
  package static func fixed(_ number: Double, decimals: Int) -> String {
    guard number.isFinite, abs(number) < 1e15 else { return "\(number)" }
    var scale: Int64 = 1
    for _ in 0..<decimals { scale *= 10 }
    let scaled = Int64((abs(number) * Double(scale)).rounded())
    let sign = number < 0 && scaled > 0 ? "-" : ""
    let whole = sign + String(scaled / scale)
    guard decimals > 0 else { return whole }
    let fraction = String(scaled % scale)
    return whole + "." + String(repeating: "0", count: decimals - fraction.utf8.count) + fraction
  }

  /// A whole number in groups of three: `2,268`.
  package static func grouped(_ number: Int) -> String {
    let digits = Array(String(number.magnitude))
    var text = ""
    for (index, digit) in digits.enumerated() {
      if index > 0, (digits.count - index) % 3 == 0 { text.append(",") }
      text.append(digit)
    }
    return number < 0 ? "-" + text : text
  }

  /// A count with its noun: `1 phone`, `40 phones`.
  package static func count(_ number: Int, _ one: String, _ many: String? = nil) -> String {
    "\(grouped(number)) \(number == 1 ? one : many ?? one + "s")"
  }

  /// A span with its two largest units: `2 h 05 min`, `3 min 20 s`, `12 s`.
  package static func span(seconds: Double) -> String {
    let whole = Int(max(seconds, 0).rounded())
    let (hours, minutes, rest) = (whole / 3_600, whole / 60 % 60, whole % 60)
    if hours > 0 { return "\(hours) h \(twoDigits(minutes)) min" }
    if minutes > 0 { return "\(minutes) min \(twoDigits(rest)) s" }
    return "\(rest) s"
  }

  /// A position in a long event, as a clock: `1:02:14`.
  package static func clock(seconds: Double) -> String {
    let whole = Int(max(seconds, 0))
    return "\(whole / 3_600):\(twoDigits(whole / 60 % 60)):\(twoDigits(whole % 60))"
  }

  /// The text in exactly this many columns: cut with an ellipsis, or filled with spaces.
  package static func fitted(_ text: String, columns: Int) -> String {
    let cut = cut(text, columns: columns)
    return cut + String(repeating: " ", count: columns - width(of: cut))
  }

  /// Both texts in one line of exactly this many columns, the second one at its end and whole.
  package static func spread(_ left: String, _ right: String, columns: Int) -> String {
    let rightWidth = width(of: right)
    guard rightWidth < columns else { return fitted(right, columns: columns) }
    return fitted(left, columns: columns - rightWidth) + right
  }

  /// The text in at most this many columns.
  package static func cut(_ text: String, columns: Int) -> String {
    guard width(of: text) > columns else { return text }
    var kept = ""
    var used = 0
    for character in text {
      let next = width(of: character)
      if used + next > columns - 1 { break }
      kept.append(character)
      used += next
    }
    return columns > 0 ? kept + "…" : ""
  }

  /// A text from outside without what could move the cursor or recolour a terminal.
  package static func harmless(_ text: String) -> String {
    String(
      text.unicodeScalars.compactMap { scalar -> Character? in
        switch scalar.properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator: scalar == "\t" ? " " : nil
        default: Character(scalar)
        }
      })
  }

  /// Terminal columns that a text takes.
  package static func width(of text: String) -> Int { text.reduce(0) { $0 + width(of: $1) } }

  private static func width(of character: Character) -> Int {
    guard let scalar = character.unicodeScalars.first else { return 0 }
    if scalar.properties.generalCategory == .nonspacingMark { return 0 }
    if scalar.properties.isEmojiPresentation { return 2 }
    // East Asian wide and full-width letters, by Unicode's blocks.
    switch scalar.value {
    case 0x1100...0x115F, 0x2E80...0x303E, 0x3041...0xA4CF, 0xAC00...0xD7A3, 0xF900...0xFAFF,
      0xFE30...0xFE6F, 0xFF00...0xFF60, 0xFFE0...0xFFE6, 0x1F300...0x1F64F, 0x1F900...0x1F9FF,
      0x20000...0x3FFFD:
      return 2
    default: return 1
    }
  }

  private static func twoDigits(_ number: Int) -> String {
    number < 10 ? "0\(number)" : "\(number)"
  }
}
