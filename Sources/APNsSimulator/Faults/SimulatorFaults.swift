internal import Clocks

/// What goes wrong, how often. Shares are 0 to 1, of requests where nothing else is said.
package struct SimulatorFaults: Sendable, Equatable {
  /// Trouble that seldom comes alone.
  package struct Burst: Sendable, Equatable {
    /// Of all requests, those inside of bursts counted in full.
    package var share: Double
    /// How many requests of one connection it meets in a row.
    package var length: Int

    package init(share: Double = 0, length: Int = 1) {
      self.share = share
      self.length = length
    }

    /// The share of requests outside of bursts at which one begins.
    var startShare: Double {
      guard share < 1 else { return 1 }
      return share / (Double(length) - share * Double(length - 1))
    }
  }

  /// Added to every answer, between these two, uniformly.
  package var latencyLow: Duration = .zero
  package var latencyHigh: Duration = .zero

  // Not processed.

  /// Streams that are refused (REFUSED_STREAM).
  package var refusedShare = 0.0
  /// Answered with 429 `TooManyRequests`.
  package var throttled = Burst()
  /// Answered with 500 `InternalServerError`.
  package var internalError = Burst()
  /// Answered with 503 `ServiceUnavailable`.
  package var unavailable = Burst()
  /// Answered with 403 `ExpiredProviderToken`, whatever the token's age: hosts do not all agree.
  package var expiredShare = 0.0
  /// The TCP connection is reset.
  package var droppedShare = 0.0
  /// Every connection is reset at each so many requests; nil: by share only.
  package var dropEvery: Int?

  // Processed.

  /// Streams that are never answered.
  package var silentShare = 0.0
  /// Streams that are reset instead of answered.
  package var resetShare = 0.0
  /// Answered with the head and half of the body, and no end.
  package var halvedShare = 0.0
  /// Answered whole, with a body that is no whole JSON.
  package var garbledShare = 0.0

  // About the connection.

  /// GOAWAY at once. Its last stream lies below the newest ones, as far as they were not processed.
  package var goAwayShare = 0.0
  /// How many streams lie above it.
  package var goAwayStreamsBack = 0
  /// GOAWAY in two steps: first with the greatest stream, then, a moment later, with the true one.
  package var gentleGoAwayShare = 0.0
  /// Every connection is told to go away, in two steps, at each so many requests; nil: by share.
  package var gentleGoAwayEvery: Int?
  /// The connection stops: it neither reads nor writes nor processes, and then goes on where it
  /// was.
  package var stalledShare = 0.0
  package var stallLength: Duration = .seconds(10)
  /// Of connections: the client may send what the first windows hold, and nothing more.
  package var shutWindowsShare = 0.0

  // About time.

  /// APNs' clock minus the true time. Shifts token ages and everything else that APNs judges.
  package var clockSkew: Duration = .zero
  /// Provider tokens of this age and more are refused as expired; nil: at the documented hour.
  package var tokenExpiry: Duration?

  package init() {}

  package func validate() throws(InvalidSetting) {
    let shares = [
      ("refusedShare", refusedShare), ("throttled.share", throttled.share),
      ("internalError.share", internalError.share), ("unavailable.share", unavailable.share),
      ("expiredShare", expiredShare), ("droppedShare", droppedShare),
      ("silentShare", silentShare), ("resetShare", resetShare), ("halvedShare", halvedShare),
      ("garbledShare", garbledShare), ("goAwayShare", goAwayShare),
      ("gentleGoAwayShare", gentleGoAwayShare), ("stalledShare", stalledShare),
      ("shutWindowsShare", shutWindowsShare),
    ]
    for (name, share) in shares { try require("faults.\(name)", share, in: 0...1, "") }
    let bursts = [
      ("throttled", throttled), ("internalError", internalError), ("unavailable", unavailable),
    ]
    for (name, burst) in bursts {
      try require("faults.\(name).length", burst.length, in: 1...1_000_000, "requests")
    }
    try require("faults.latencyLow", latencyLow, in: .zero ... .seconds(600), "")
    try require("faults.latencyHigh", latencyHigh, in: latencyLow ... .seconds(600), "")
    try require("faults.stallLength", stallLength, in: .milliseconds(1) ... .seconds(3600), "")
    try require("faults.dropEvery", dropEvery ?? 1, in: 1...Int.max, "requests")
    try require("faults.gentleGoAwayEvery", gentleGoAwayEvery ?? 1, in: 1...Int.max, "requests")
    try require("faults.goAwayStreamsBack", goAwayStreamsBack, in: 0...100_000, "streams")
    let year = Duration.seconds(86_400 * 365)
    try require("faults.clockSkew", clockSkew, in: .zero - year...year, "")
    try require("faults.tokenExpiry", tokenExpiry ?? .zero, in: .zero ... .seconds(86_400), "")
  }
}
