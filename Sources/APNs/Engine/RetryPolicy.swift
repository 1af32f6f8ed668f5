import Clocks

/// Whether and how a request is repeated that APNs could not serve just then: 429
/// `TooManyRequests` and 503 `ServiceUnavailable`.
///
/// These say that nothing was done, so repeating is safe; whether it is wise depends on how old the
/// content is by then. What APNs may have acted on (``APNsRefusal/mayHaveActed``) is never repeated,
/// whatever this says.
public struct RetryPolicy: Sendable, Hashable {
  /// Repetitions at most, 0 or more.
  public var repetitions: Int
  /// The first wait, from zero to a day; each further one is double. Between half of it and the whole is waited, at
  /// random, so that many who were refused together do not come back together.
  public var firstWait: Duration
  /// No wait is longer, but for one that APNs itself asks for; from zero to a day.
  public var longestWait: Duration

  /// A policy of one's own.
  public init(repetitions: Int, firstWait: Duration, longestWait: Duration) {
    self.repetitions = repetitions
    self.firstWait = firstWait
    self.longestWait = longestWait
  }

  /// Refusals are the caller's at once.
  public static let never = RetryPolicy(repetitions: 0, firstWait: .zero, longestWait: .zero)

  /// Three quick tries within some two seconds: for what is of use only while it is fresh.
  public static let quick = RetryPolicy(
    repetitions: 3, firstWait: .milliseconds(300), longestWait: .seconds(5))

  /// - Parameter name: of the property that holds it, for the message.
  func check(_ name: String) throws(APNsSetupError) {
    guard repetitions >= 0 else {
      throw .setting("\(name).repetitions is \(repetitions), and must be 0 or more")
    }
    for (setting, wait) in [("firstWait", firstWait), ("longestWait", longestWait)] {
      guard wait >= .zero, wait <= .seconds(86_400) else {
        throw .setting("\(name).\(setting) is \(wait), and must be from zero to a day")
      }
    }
  }

  /// How long to wait before a repetition.
  ///
  /// - Parameters:
  ///   - done: how many there were already.
  ///   - asked: what APNs asks for, which is the least.
  /// - Returns: nil when there shall be no more.
  func wait(
    after done: Int, asked: Duration?, using random: inout some RandomNumberGenerator
  ) -> Duration? {
    guard done < repetitions else { return nil }
    var wait = firstWait
    for _ in 0..<done where wait < longestWait { wait *= 2 }
    wait = min(wait, longestWait)
    let part = Double.random(in: 0.5...1, using: &random)
    return max(.nanoseconds(Int64(Double(wait.wholeNanoseconds) * part)), asked ?? .zero)
  }
}

/// Why one request may travel again.
enum Repetition: Sendable, Hashable {
  /// There is a new provider token.
  case renewed
  /// The connection was over or spoilt.
  case reconnect
  /// APNs could not serve it just then, and perhaps said how long to wait.
  case later(asked: Duration?)
}

/// How often a request, or all of a batch, may travel again for each reason.
struct RepeatBudget: Sendable {
  private static let mostReconnections = 3

  private let policy: RetryPolicy
  private var hasRenewed = false
  private var reconnections = 0
  private var repetitions = 0

  init(_ policy: RetryPolicy) { self.policy = policy }

  /// Takes one repetition of each of these kinds out of the budget.
  ///
  /// - Parameter time: how long there is still to wait. A kind that has to wait longer gets nothing,
  ///   and keeps nobody else.
  mutating func take(
    _ wanted: Set<Repetition>, within time: Duration,
    using random: inout some RandomNumberGenerator
  ) -> (wait: Duration, allowed: Set<Repetition>)? {
    var allowed: Set<Repetition> = []
    var wait = Duration.zero
    if wanted.contains(.renewed), !hasRenewed {
      hasRenewed = true
      allowed.insert(.renewed)
    }
    if wanted.contains(.reconnect), reconnections < Self.mostReconnections {
      reconnections += 1
      allowed.insert(.reconnect)
    }
    let waits = wanted.compactMap { (repetition) -> (Repetition, Duration)? in
      guard case .later(let asked) = repetition,
        let pause = policy.wait(after: repetitions, asked: asked, using: &random), pause < time
      else { return nil }
      return (repetition, pause)
    }
    if let longest = waits.map(\.1).max() {
      repetitions += 1
      allowed.formUnion(waits.map(\.0))
      wait = longest
    }
    return allowed.isEmpty ? nil : (wait, allowed)
  }
}
