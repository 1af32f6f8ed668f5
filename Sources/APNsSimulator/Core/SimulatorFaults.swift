internal import Clocks

/// What goes wrong, how often. All shares are of requests, 0 to 1, and drawn from the seed.
package struct SimulatorFaults: Sendable, Equatable {
  /// Added to every answer, between these two, uniformly.
  package var latencyLow: Duration = .zero
  package var latencyHigh: Duration = .zero
  /// Streams that are taken (the broadcast happens) and never answered.
  package var stalledShare = 0.0
  /// Streams that are taken (the broadcast happens) and reset instead of answered.
  package var resetShare = 0.0
  /// Streams that are refused (REFUSED_STREAM), untouched.
  package var refusedShare = 0.0
  /// Requests answered with 429 `TooManyRequests`, untouched.
  package var throttledShare = 0.0
  /// Requests answered with 503 `ServiceUnavailable`, untouched.
  package var unavailableShare = 0.0
  /// Requests answered with 500 `InternalServerError`, untouched.
  package var internalErrorShare = 0.0
  /// How many requests in a row a drawn 429, 500 or 503 answers: trouble seldom comes alone.
  package var burstLength = 1
  /// Accepted requests whose answer has a body that is no whole JSON.
  package var garbledShare = 0.0
  /// Requests upon which the connection is told to go away.
  package var goAwayShare = 0.0
  /// How far GOAWAY's last stream lies below the newest one: those above are not processed.
  package var goAwayStreamsBack = 0
  /// Every connection is told to go away at each so many requests; nil: by share only.
  package var goAwayEvery: Int?
  /// Whether GOAWAY comes in two steps: first with the greatest stream, then, a moment later, with
  /// the true one.
  package var isGoAwayGraceful = false
  /// Every connection is closed without a word after so many requests; nil: never.
  package var closeEvery: Int?
  /// Requests upon which the TCP connection is reset, nothing answered.
  package var connectionResetShare = 0.0
  /// Refuse all provider tokens as expired.
  package var expiresTokens = false
  /// APNs' clock minus the true time. Shifts token ages and everything else that APNs judges.
  package var clockSkew: Duration = .zero

  package init() {}

  package func validate() throws(InvalidSetting) {
    let shares = [
      ("stalledShare", stalledShare), ("resetShare", resetShare), ("refusedShare", refusedShare),
      ("throttledShare", throttledShare), ("unavailableShare", unavailableShare),
      ("internalErrorShare", internalErrorShare), ("goAwayShare", goAwayShare),
      ("connectionResetShare", connectionResetShare), ("garbledShare", garbledShare),
    ]
    for (name, share) in shares { try require("faults.\(name)", share, in: 0...1, "") }
    try require("faults.latencyLow", latencyLow, in: .zero ... .seconds(600), "")
    try require("faults.latencyHigh", latencyHigh, in: latencyLow ... .seconds(600), "")
    try require("faults.burstLength", burstLength, in: 1...1_000_000, "requests")
    try require("faults.goAwayEvery", goAwayEvery ?? 1, in: 1...Int.max, "requests")
    try require("faults.closeEvery", closeEvery ?? 1, in: 1...Int.max, "requests")
    try require("faults.goAwayStreamsBack", goAwayStreamsBack, in: 0...100_000, "streams")
    try require(
      "faults.clockSkew", clockSkew, in: .seconds(-86_400 * 365) ... .seconds(86_400 * 365), "")
  }
}

extension SimulatorFaults {
  /// What befalls one request. Most are left alone.
  package enum Fate: Equatable {
    case none
    /// Answered with this reason, not processed.
    case answered(Reason)
    /// Not processed, REFUSED_STREAM.
    case refused
    /// Processed, never answered.
    case stalled
    /// Processed, and answered with half a body.
    case garbled
    /// Processed, then reset.
    case reset
    /// The connection goes away, this many streams before the newest.
    case goAway(streamsBack: Int)
    case connectionReset
  }

  /// Draws one fate; at most one fault meets a request.
  package func fate(_ random: inout SeededRandom) -> Fate {
    let weighted: [(Double, Fate)] = [
      (refusedShare, .refused), (throttledShare, .answered(.tooManyRequests)),
      (unavailableShare, .answered(.serviceUnavailable)),
      (internalErrorShare, .answered(.internalServerError)), (stalledShare, .stalled),
      (resetShare, .reset), (garbledShare, .garbled),
      (goAwayShare, .goAway(streamsBack: goAwayStreamsBack)),
      (connectionResetShare, .connectionReset),
    ]
    guard weighted.contains(where: { $0.0 > 0 }) else { return .none }
    var draw = random.fraction()
    for (share, fate) in weighted {
      if draw < share { return fate }
      draw -= share
    }
    return .none
  }

  package func latency(_ random: inout SeededRandom) -> Duration {
    guard latencyHigh > .zero else { return .zero }
    let span = Double((latencyHigh - latencyLow).wholeNanoseconds)
    return latencyLow + .nanoseconds(Int64(span * random.fraction()))
  }
}
