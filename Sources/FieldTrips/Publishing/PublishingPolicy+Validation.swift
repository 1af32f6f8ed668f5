internal import Clocks

/// A setting that is out of its range.
package struct PolicyError: Error, Sendable, Equatable, CustomStringConvertible {
  /// As in ``PublishingPolicy``.
  package let setting: String
  package let value: String
  package let expected: String

  /// Like `budgetPerHour=0.0: expected 1...3600 broadcasts an hour`.
  package var description: String { "\(setting)=\(value): expected \(expected)" }
}

extension PublishingPolicy {
  /// Call once at the edge: everything that takes a policy relies on it.
  package func validate() throws(PolicyError) {
    try PolicyError.check("budgetPerHour", budgetPerHour, 1...3_600, "broadcasts an hour")
    if let burst { try PolicyError.check("burst", burst, 2...1_000, "broadcasts") }
    try PolicyError.check("overdraft", overdraft, 0...100, "broadcasts")
    try rule.validate()
    try PolicyError.check("maxWait", maxWait, 1...100, "refill intervals")
    try gap.validate()
    try PolicyError.check("tailGap", tailGap, .seconds(1) ... .seconds(3_600))
    try PolicyError.check("tailSkip", tailSkip, .zero ... .seconds(3_600))
    try PolicyError.check("tailPause", tailPause, .seconds(1) ... .seconds(86_400))
    try PolicyError.check("tailPauseCap", tailPauseCap, tailPause ... .seconds(86_400))
    try validateAnswers()
  }

  private func validateAnswers() throws(PolicyError) {
    try PolicyError.check("rateUp", rateUp, 0...3_600, "broadcasts an hour")
    try PolicyError.check("rateDown", rateDown, 0.01...0.99, "(a share)")
    try PolicyError.check("rateFloor", rateFloor, 1...3_600, "broadcasts an hour")
    try PolicyError.check("downOncePer", downOncePer, .zero ... .seconds(3_600))
    try PolicyError.check("backoffBase", backoffBase, .milliseconds(1) ... .seconds(60))
    try PolicyError.check("backoffCap", backoffCap, .seconds(1) ... .seconds(3_600))
    try PolicyError.check(
      "significantBackoffCap", significantBackoffCap, .seconds(1) ... .seconds(3_600))
    try PolicyError.check("defectRetry", defectRetry, .seconds(1) ... .seconds(3_600))
    try PolicyError.check("requestTimeout", requestTimeout, .seconds(1) ... .seconds(60))
    try PolicyError.check("skewLimit", skewLimit, .seconds(1) ... .seconds(28_800))
    try PolicyError.check("skewAlarm", skewAlarm, .seconds(1)...skewLimit)
  }
}

extension PolicyError {
  static func check(
    _ setting: String, _ value: Duration, _ range: ClosedRange<Duration>
  ) throws(PolicyError) {
    guard !range.contains(value) else { return }
    let expected = "\(range.lowerBound.inSeconds)...\(range.upperBound.inSeconds) seconds"
    throw PolicyError(setting: setting, value: "\(value.inSeconds)", expected: expected)
  }

  static func check<Value: Comparable>(
    _ setting: String, _ value: Value, _ range: ClosedRange<Value>, _ unit: String
  ) throws(PolicyError) {
    // A NaN is in no range, and so is refused here too.
    guard !range.contains(value) else { return }
    throw PolicyError(setting: setting, value: "\(value)", expected: "\(range) \(unit)")
  }
}
