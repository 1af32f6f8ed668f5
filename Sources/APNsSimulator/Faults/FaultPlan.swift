internal import Clocks

/// Decides what befalls each connection and each request, drawn from a seed in the order in which
/// they come, and counts it.
package struct FaultPlan: Sendable {
  /// What befalls one request. Most are left alone; at most one fault meets one.
  package enum Fate: Equatable, Sendable {
    case none
    /// Not processed, answered with this reason.
    case answered(Reason)
    /// Not processed, REFUSED_STREAM.
    case refused
    /// Not processed, the TCP connection is reset.
    case dropped
    /// Processed, never answered.
    case silent
    /// Processed, and answered without an end.
    case halved
    /// Processed, and answered with half a body.
    case garbled
    /// Processed, then reset.
    case reset
    /// The connection goes away, so many streams before the newest.
    case goAway(streamsBack: Int)
    /// The connection goes away in two steps.
    case gentleGoAway
    /// The connection stops for so long.
    case stalled(Duration)

    /// As ``FaultText`` names it.
    package var name: String? {
      switch self {
      case .none: nil
      case .answered(.expiredProviderToken): "expired"
      case .answered(let reason): "\(reason.status)"
      case .refused: "refuse"
      case .dropped: "drop"
      case .silent: "silence"
      case .halved: "half"
      case .garbled: "garble"
      case .reset: "reset"
      case .goAway: "goaway"
      case .gentleGoAway: "goaway-gently"
      case .stalled: "stall"
      }
    }
  }

  /// What a plan remembers of one connection.
  package struct Connection: Sendable {
    /// Whether its windows open again when what they held was sent.
    package let opensWindows: Bool
    fileprivate var requests = 0
    fileprivate var burst: (fate: Fate, left: Int) = (.none, 0)
  }

  private var random: SeededRandom
  /// How often each fault came, by its name.
  package private(set) var counts: [String: Int] = [:]

  package init(seed: UInt64) { random = SeededRandom(seed: seed) }

  /// A connection begins.
  package mutating func connection(_ faults: SimulatorFaults) -> Connection {
    let isShut = faults.shutWindowsShare > 0 && random.fraction() < faults.shutWindowsShare
    if isShut { counts["windows", default: 0] += 1 }
    return Connection(opensWindows: !isShut)
  }

  /// A request has come on a connection.
  ///
  /// - Returns: what befalls it, and how long that takes to begin.
  package mutating func request(
    on connection: inout Connection, _ faults: SimulatorFaults
  ) -> (fate: Fate, latency: Duration) {
    connection.requests += 1
    let fate = fate(&connection, faults)
    if let name = fate.name { counts[name, default: 0] += 1 }
    return (fate, latency(faults))
  }

  /// What a request's number brings, else what its burst brings, else what is drawn.
  private mutating func fate(_ connection: inout Connection, _ faults: SimulatorFaults) -> Fate {
    if let every = faults.dropEvery, connection.requests % every == 0 { return .dropped }
    if let every = faults.gentleGoAwayEvery, connection.requests % every == 0 {
      return .gentleGoAway
    }
    if connection.burst.left > 0 {
      connection.burst.left -= 1
      return connection.burst.fate
    }
    let weighted = Self.weighted(faults)
    guard weighted.contains(where: { $0.share > 0 }) else { return .none }
    var draw = random.fraction()
    for (share, fate, length) in weighted {
      if draw < share {
        connection.burst = (fate, length - 1)
        return fate
      }
      draw -= share
    }
    return .none
  }

  private static func weighted(
    _ faults: SimulatorFaults
  ) -> [(share: Double, fate: Fate, length: Int)] {
    [
      (faults.throttled.startShare, .answered(.tooManyRequests), faults.throttled.length),
      (
        faults.internalError.startShare, .answered(.internalServerError),
        faults.internalError.length
      ),
      (faults.unavailable.startShare, .answered(.serviceUnavailable), faults.unavailable.length),
      (faults.expiredShare, .answered(.expiredProviderToken), 1),
      (faults.refusedShare, .refused, 1), (faults.droppedShare, .dropped, 1),
      (faults.silentShare, .silent, 1), (faults.resetShare, .reset, 1),
      (faults.halvedShare, .halved, 1), (faults.garbledShare, .garbled, 1),
      (faults.goAwayShare, .goAway(streamsBack: faults.goAwayStreamsBack), 1),
      (faults.gentleGoAwayShare, .gentleGoAway, 1),
      (faults.stalledShare, .stalled(faults.stallLength), 1),
    ]
  }

  private mutating func latency(_ faults: SimulatorFaults) -> Duration {
    guard faults.latencyHigh > .zero else { return .zero }
    let span = Double((faults.latencyHigh - faults.latencyLow).wholeNanoseconds)
    return faults.latencyLow + .nanoseconds(Int64(span * random.fraction()))
  }
}
