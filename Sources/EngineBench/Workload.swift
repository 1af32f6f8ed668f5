/// One thing that contenders are to do alike.
package struct Workload: Sendable, Hashable {
  package enum Demand: Sendable, Hashable {
    /// As fast as it goes, with so many requests open at any time.
    case inFlight(Int)
    /// So many requests a second, however fast the answers come.
    case perSecond(Int)
  }

  package var demand: Demand
  package var requests: Int
  package var answersAfterMilliseconds = 0
  /// Whether every second token is refused.
  package var halfBad = false

  package init(_ demand: Demand, requests: Int) {
    self.demand = demand
    self.requests = requests
  }

  /// The most requests that are open at once, and the fewest that a run can have.
  package var width: Int {
    switch demand {
    case .inFlight(let width): width
    case .perSecond: 1_000
    }
  }

  /// For a table, without the number of requests.
  package var title: String { pace + (halfBad ? ", half of the tokens bad" : "") }

  private var pace: String {
    switch demand {
    case .inFlight(let width): "\(width) in flight"
    case .perSecond(let rate):
      "\(rate) a second, answered after \(answersAfterMilliseconds) ms"
    }
  }
}

/// A program, and the way in which it is asked.
package enum Contender: String, Sendable, Hashable, CaseIterable {
  /// nghttp2's load generator: C and C++ over the same libraries, without what a provider needs.
  case h2load
  /// The engine, with one call of its async interface for each push.
  case async
  /// The engine, with many pushes handed over in one call.
  case batch
  /// As ``async``, from tasks that do not prefer the client's loop: each push changes threads.
  case elsewhere

  package var title: String {
    switch self {
    case .h2load: "h2load"
    case .async: "engine, a call each"
    case .batch: "engine, in batches"
    case .elsewhere: "engine, from other threads"
    }
  }
}
