/// Runs that are compared with each other, a round of each by turns.
struct Contest: Sendable {
  struct Entry: Sendable {
    var contender: Contender
    var workload: Workload
  }

  var entries: [Entry]

  init(_ workload: Workload, _ contenders: [Contender]) {
    entries = contenders.map { Entry(contender: $0, workload: workload) }
  }

  init(entries: [Entry]) { self.entries = entries }

  /// What `fieldcast bench engine` measures, by the server that it needs.
  static func standard(_ settings: EngineBench.Settings) -> [(BenchServer.Kind, [Contest])] {
    let requests = settings.requests
    func few(_ part: Int) -> Int { max(requests / part, 10) }
    let quick = [
      Contest(
        Workload(.inFlight(100), requests: requests), [.h2load, .async, .batch, .elsewhere]),
      Contest(Workload(.inFlight(1), requests: few(10)), [.h2load, .async]),
      Contest(Workload(.inFlight(10), requests: few(2)), [.h2load, .async, .batch]),
      Contest(Workload(.inFlight(1_000), requests: requests), [.h2load, .async, .batch]),
    ]
    if settings.usesNghttpd { return [(.nghttpd, quick)] }
    var timed = Workload(.perSecond(5_000), requests: few(20))
    timed.answersAfterMilliseconds = 40
    var good = Workload(.perSecond(5_000), requests: few(10))
    good.answersAfterMilliseconds = 40
    // As many good ones in the same time, and a bad one beside each.
    var halfBad = Workload(.perSecond(10_000), requests: 2 * good.requests)
    halfBad.answersAfterMilliseconds = 40
    halfBad.halfBad = true
    return [
      (.lean(LeanServer.Configuration()), quick),
      (.lean(.delayed(milliseconds: 40)), [Contest(timed, [.h2load, .async, .batch])]),
      (
        .lean(.knowingTokens(answeringAfter: 40)),
        [
          Contest(entries: [
            Contest.Entry(contender: .async, workload: good),
            Contest.Entry(contender: .async, workload: halfBad),
          ])
        ]
      ),
    ]
  }
}

extension LeanServer.Configuration {
  static func delayed(milliseconds: Int) -> Self {
    var configuration = Self()
    configuration.answersAfter = .milliseconds(milliseconds)
    return configuration
  }

  static func knowingTokens(answeringAfter milliseconds: Int) -> Self {
    var configuration = Self.delayed(milliseconds: milliseconds)
    configuration.knowsBadTokens = true
    return configuration
  }
}
