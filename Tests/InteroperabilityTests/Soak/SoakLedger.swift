import APNs
import Clocks
import HTTP
import Transport

/// What a caller was told about one request.
enum SoakOutcome: Sendable, Equatable {
  case accepted
  case refused(String)
  case notSent(String)
  case unknown(String)

  init(_ result: PushResult) {
    switch result {
    case .accepted: self = .accepted
    case .refused(let refusal): self = .refused(Self.name(refusal))
    case .notSent(let failure): self = .notSent(Self.name(failure))
    case .unknown(let failure): self = .unknown(Self.name(failure))
    }
  }

  init(_ result: BroadcastResult) {
    switch result {
    case .accepted: self = .accepted
    case .refused(let refusal): self = .refused(Self.name(refusal))
    case .notSent(let failure): self = .notSent(Self.name(failure))
    case .unknown(let failure): self = .unknown(Self.name(failure))
    }
  }

  init<Value>(_ result: ChannelResult<Value>) {
    switch result {
    case .done, .malformed: self = .accepted
    case .refused(let refusal): self = .refused(Self.name(refusal))
    case .notSent(let failure): self = .notSent(Self.name(failure))
    case .unknown(let failure): self = .unknown(Self.name(failure))
    }
  }

  /// For counting, such as `unknown: deadline`.
  var name: String {
    switch self {
    case .accepted: "accepted"
    case .refused(let why): "refused: \(why)"
    case .notSent(let why): "not sent: \(why)"
    case .unknown(let why): "unknown: \(why)"
    }
  }

  private static func name(_ refusal: APNsRefusal) -> String {
    "\(refusal.status) \(refusal.reason?.text ?? "unreadable")"
  }

  private static func name(_ failure: APNsFailure) -> String {
    guard case .exchange(let exchange) = failure else {
      return "\(failure)".prefix { $0 != "(" && $0 != ":" }.description
    }
    switch exchange.kind {
    case .goAway: return "goaway"
    case .reset: return "reset"
    default: return "\(exchange.kind)"
    }
  }
}

/// Who asked for what, and what became of it: one definite result each, in time.
final class SoakLedger: Sendable {
  private struct State {
    var outcomes: [String: SoakOutcome] = [:]
    var waiting: [Int: (what: String, until: Moment)] = [:]
    var next = 0
    var latest: Duration = .zero
    var faults: [String] = []
  }

  private let state = Lock(State())

  /// What was said of each ID.
  var outcomes: [String: SoakOutcome] { state.withLock { $0.outcomes } }
  /// What went wrong on our side of the wire.
  var faults: [String] { state.withLock { $0.faults } }
  /// How far behind its deadline the latest result came.
  var latest: Duration { state.withLock { $0.latest } }

  /// A call begins.
  func begin(_ what: String, deadline: Duration) -> Int {
    let until = MonotonicClock.now() + deadline
    return state.withLock { state in
      state.next += 1
      state.waiting[state.next] = (what, until)
      return state.next
    }
  }

  /// A call has returned, with a result for each of its IDs.
  func end(_ call: Int, _ results: [(id: String, outcome: SoakOutcome)]) {
    let now = MonotonicClock.now()
    state.withLock { state in
      if let waited = state.waiting.removeValue(forKey: call) {
        state.latest = max(state.latest, now - waited.until)
      }
      for (id, outcome) in results {
        if let earlier = state.outcomes.updateValue(outcome, forKey: id) {
          state.faults.append("\(id) had two results: \(earlier.name), \(outcome.name)")
        }
      }
    }
  }

  func fail(_ fault: String) { state.withLock { $0.faults.append(fault) } }

  /// Calls whose deadline passed so long ago.
  func overdue(by patience: Duration) -> [String] {
    let now = MonotonicClock.now()
    return state.withLock { state in
      state.waiting.values.filter { $0.until + patience < now }.map(\.what)
    }
  }

  /// Holds what callers were told against what APNs accepted.
  ///
  /// - Parameter accepted: how often each ID was accepted.
  func verdicts(_ accepted: [String: Int]) -> [String] {
    outcomes.compactMap { id, outcome in
      let count = accepted[id, default: 0]
      let isRight =
        switch outcome {
        case .accepted: count == 1
        case .refused, .notSent: count == 0
        case .unknown: count <= 1
        }
      return isRight ? nil : "\(id) was \(outcome.name), and APNs accepted it \(count) times"
    }
  }

  /// How often each outcome came, the most frequent first.
  var counts: [(name: String, count: Int)] {
    var counts: [String: Int] = [:]
    for outcome in outcomes.values { counts[outcome.name, default: 0] += 1 }
    return counts.sorted { ($1.value, $0.key) < ($0.value, $1.key) }.map { ($0.key, $0.value) }
  }
}
