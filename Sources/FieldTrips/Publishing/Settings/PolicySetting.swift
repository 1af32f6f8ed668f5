/// One parameter of publishing, as a person reads and writes it: `tail-gap=30`.
package struct PolicySetting: Sendable {
  package enum Group: String, Sendable, CaseIterable {
    case budget = "The channel's budget"
    case rule = "The rule"
    case tail = "Priority 5"
    case answers = "Refusals and failures"
    case tokens = "Cards reached by token"
    case clocks = "Clocks"
    case app = "The app"
  }

  package let group: Group
  package let name: String
  /// Of its values: `s`, `broadcasts an hour`; empty for plain numbers.
  package let unit: String
  package let range: ClosedRange<Double>
  package let isWhole: Bool
  /// A word that stands for no number, with what it means: `auto`, `off`.
  package let word: String?
  /// What it does, and how to choose it.
  package let meaning: String
  let get: @Sendable (PublishingSettings) -> Double?
  let set: @Sendable (inout PublishingSettings, Double?) -> Void

  /// A switch is written as `on` or `off`.
  package var isSwitch: Bool { unit == "on or off" }

  /// What may be written: `1...3600 broadcasts an hour, or auto`.
  package var expected: String {
    if isSwitch { return unit }
    let (low, high) = (Self.written(range.lowerBound), Self.written(range.upperBound))
    return "\(low)...\(high)" + (unit.isEmpty ? "" : " \(unit)") + (word.map { ", or \($0)" } ?? "")
  }

  /// The value that these settings have, as it would be written.
  package func value(in settings: PublishingSettings) -> String {
    guard let number = get(settings) else { return word ?? "" }
    return isSwitch ? (number == 1 ? "on" : "off") : Self.written(number)
  }

  /// - Throws: where the text is no value of this setting.
  func assign(_ text: String, to settings: inout PublishingSettings) throws(PolicyError) {
    if text == word { return set(&settings, nil) }
    guard let number = number(text), isRight(number) else {
      throw PolicyError(setting: name, value: text, expected: expected)
    }
    set(&settings, number)
  }

  func check(_ settings: PublishingSettings) throws(PolicyError) {
    guard let number = get(settings), !isRight(number) else { return }
    throw PolicyError(setting: name, value: Self.written(number), expected: expected)
  }

  private func number(_ text: String) -> Double? {
    guard isSwitch else { return Double(text) }
    return text == "on" ? 1 : text == "off" ? 0 : nil
  }

  /// A NaN is in no range, and so is refused too.
  private func isRight(_ number: Double) -> Bool {
    range.contains(number) && (!isWhole || number == number.rounded())
  }

  private static func written(_ number: Double) -> String {
    number == number.rounded() && abs(number) < 1e15 ? String(Int64(number)) : String(number)
  }
}

/// A setting that is out of its range.
package struct PolicyError: Error, Sendable, Equatable, CustomStringConvertible {
  package let setting: String
  package let value: String
  package let expected: String

  /// Like `budget=0: expected 1...3600 broadcasts an hour`.
  package var description: String { "\(setting)=\(value): expected \(expected)" }
}
