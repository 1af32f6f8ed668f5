/// Natural logarithm and exponential without a C library, so that a replay gives the same broadcasts
/// on every machine. Correct to about one unit in the last place over the range that gaps have.
enum Natural {
  private static let ln2 = 0.693_147_180_559_945_3

  /// - Parameter value: positive and finite.
  static func logarithm(_ value: Double) -> Double {
    precondition(value > 0 && value.isFinite, "no logarithm of \(value)")
    // value = 2^e · m with m in √½...√2, then ln m = 2 artanh((m − 1) / (m + 1)).
    var exponent = Double(value.exponent)
    var mantissa = value.significand
    if mantissa > 1.414_213_562_373_095 {
      mantissa /= 2
      exponent += 1
    }
    let ratio = (mantissa - 1) / (mantissa + 1)
    let square = ratio * ratio
    var sum = 0.0
    // |ratio| < 0.172, so the terms fall below 2^-53 after ten.
    for power in stride(from: 21.0, through: 1, by: -2) { sum = sum * square + 1 / power }
    return exponent * ln2 + 2 * ratio * sum
  }

  /// - Parameter value: -700...700.
  static func exponential(_ value: Double) -> Double {
    precondition(abs(value) <= 700, "the exponential of \(value) is out of range")
    let exponent = (value / ln2).rounded()
    let rest = value - exponent * ln2
    var sum = 1.0
    // |rest| < 0.347: thirteen terms reach 2^-53.
    for term in stride(from: 14.0, through: 1, by: -1) { sum = 1 + sum * rest / term }
    return Double(sign: .plus, exponent: Int(exponent), significand: sum)
  }
}
