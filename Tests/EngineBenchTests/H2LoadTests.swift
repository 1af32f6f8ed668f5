import Testing

@testable import EngineBench

@Suite struct `What h2load says` {
  private static let output = """
    finished in 692.20ms, 288923.52 req/s, 24.12MB/s
    requests: 200000 total, 200000 started, 200000 done, 199999 succeeded, 1 failed, 1 errored
    status codes: 199999 2xx, 0 3xx, 0 4xx, 0 5xx
    """

  @Test func `has a rate and a count of successes`() {
    let summary = H2Load.summary(of: Self.output)
    #expect(summary == H2Load.Summary(succeeded: 199_999, perSecond: 288_923.52))
  }

  @Test func `is nothing when it did not come to its end`() {
    #expect(H2Load.summary(of: "starting benchmark...\nprogress: 10% done") == nil)
    #expect(H2Load.summary(of: "finished in 1.00s, 10.00 req/s, 1KB/s") == nil)
  }

  @Test func `is asked for the shape of a push`() {
    var timed = Workload(.perSecond(5_000), requests: 10_000)
    timed.answersAfterMilliseconds = 40
    let words = H2Load.arguments(timed, urls: "u", body: "b", fields: ["a: 1", "b: 2"])
    #expect(
      words == [
        "-c", "1", "-t", "1", "-m", "1000", "-n", "10000", "-d", "b", "-i", "u", "--rps", "5000",
        "-H", "a: 1", "-H", "b: 2",
      ])
  }
}

@Suite struct `A benchmark's pushes` {
  @Test func `have a body of 300 bytes and tokens of 64 digits, each another`() {
    #expect(BenchRequest.body.count == 300)
    let tokens = BenchTokens.make(halfBad: true)
    #expect(tokens.allSatisfy { $0.utf8.count == 64 })
    #expect(Set(tokens).count == BenchTokens.count)
  }

  @Test func `go to tokens of which none or every second is bad`() {
    func refusals(_ halfBad: Bool) -> [Int?] {
      BenchTokens.make(halfBad: halfBad).map {
        $0.utf8.last.flatMap { BenchTokens.refusal(ofPathEndingIn: $0)?.status }
      }
    }
    #expect(refusals(false).allSatisfy { $0 == nil })
    #expect(refusals(true).prefix(4) == [nil, 410, nil, 400])
    #expect(refusals(true).count { $0 == nil } == BenchTokens.count / 2)
  }
}
