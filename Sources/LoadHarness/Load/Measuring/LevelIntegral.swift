/// The mean of something that goes up and down at moments, over spans of equal length.
///
/// Each step costs the same, however long what it counts lasts, and steps may come in any order.
struct LevelIntegral: Sendable {
  let spanNanoseconds: Int64
  /// What steps in a span add to that span alone.
  private var within: [Double] = []
  /// What they add to all spans after it.
  private var beyond: [Double] = []

  init(spanNanoseconds: Int64) {
    precondition(spanNanoseconds > 0, "a span has a length")
    self.spanNanoseconds = spanNanoseconds
  }

  /// The level rises by `height` at a moment, or falls if that is negative.
  mutating func step(_ height: Double, at nanoseconds: Int64) {
    let moment = max(0, nanoseconds)
    let index = Int(moment / spanNanoseconds)
    if index >= within.count {
      let missing = index + 1 - within.count
      within.append(contentsOf: repeatElement(0, count: missing))
      beyond.append(contentsOf: repeatElement(0, count: missing))
    }
    let passed = Double(moment % spanNanoseconds) / Double(spanNanoseconds)
    within[index] += height * (1 - passed)
    beyond[index] += height
  }

  /// The mean level of each span.
  func means(count: Int) -> [Double] {
    var level = 0.0
    return (0..<count).map { index in
      guard index < within.count else { return level }
      let mean = level + within[index]
      level += beyond[index]
      return mean
    }
  }
}
