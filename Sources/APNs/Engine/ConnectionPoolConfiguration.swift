package import HTTP

/// What a pool may do.
public struct ConnectionPoolConfiguration: Sendable {
  /// How many connections at most, 1 or more. Apple sets no limit and asks to spread load.
  public var maxConnections = 2
  /// Connections beyond the first that had nothing to do for so long are closed; more than zero.
  public var idleAfter: Duration = .seconds(60)
  /// A connection is replaced at this age, more than zero, since very old ones were seen to go bad unnoticed.
  public var maxAge: Duration = .seconds(12 * 3_600)
  /// How long a replaced connection may take to answer what it was asked; zero or more.
  public var grace: Duration = .seconds(30)
  /// After so many deadlines in a row without one answer a connection is replaced, 1 or more.
  /// Those that pass at one moment, as all of a batch do, count once.
  public var deadlinesBeforeReplacement = 3
  /// How many requests may wait while there is no connection, before more are refused, 1 or
  /// more.
  public var maxWaiting = 10_000
  package var http = HTTP2ClientConfiguration()

  /// What suits most.
  public init() {}

  /// - Parameter name: of the property that holds it, for the message.
  func check(_ name: String) throws(APNsSetupError) {
    func check(
      _ setting: String, _ value: some Any, _ isUsable: Bool, _ rule: String
    ) throws(APNsSetupError) {
      if isUsable { return }
      throw .setting("\(name).\(setting) is \(value), and must be \(rule)")
    }
    try check("maxConnections", maxConnections, maxConnections >= 1, "1 or more")
    try check("idleAfter", idleAfter, idleAfter > .zero, "more than zero")
    try check("maxAge", maxAge, maxAge > .zero, "more than zero")
    try check("grace", grace, grace >= .zero, "zero or more")
    try check(
      "deadlinesBeforeReplacement", deadlinesBeforeReplacement, deadlinesBeforeReplacement >= 1,
      "1 or more")
    try check("maxWaiting", maxWaiting, maxWaiting >= 1, "1 or more")
  }
}

/// What a pool did so far and what it is doing: for metrics and health.
public struct ConnectionPoolStatus: Sendable {
  /// Which server.
  public var host = ""
  /// Connections that take requests now.
  public var open = 0
  /// Requests without an answer yet.
  public var inFlight = 0
  /// Streams that the peer allows on all open connections together.
  public var streamLimit = 0
  /// Requests that wait for a connection.
  public var waiting = 0
  /// Connections that were made.
  public var opened = 0
  /// Attempts to connect that failed.
  public var failedToOpen = 0
  /// Connections that APNs ended by GOAWAY.
  public var goAways = 0
  /// How many of them gave which reason; `other` for words that Apple has not published, `none`
  /// for no word at all.
  public var goAwayReasons: [String: Int] = [:]
  /// Connections that were retired: for their age, for having nothing to do, or since they no
  /// longer answered.
  public var replaced = 0
  /// Why the last attempt to connect failed; nil since one succeeded.
  public var connectProblem: String?
  /// Why the last connection ended that was not closed by us.
  public var lastEnd: String?
}
