import Foundation
import Testing

@testable import FieldTripKit

@Suite struct `The card reporter` {
  /// A reporter whose telling runs while the body does.
  ///
  /// - Returns: what the service would not take.
  @discardableResult
  private func reporting(
    _ answers: ScriptedTransport, _ body: (CardReporter) async throws -> Void
  ) async throws -> [FieldcastError] {
    let client = FieldcastClient(
      service: try #require(URL(string: "https://fieldcast.example.com")), transport: answers,
      retries: .never)
    let collected = Collected<FieldcastError>()
    let pauses = Pauses()
    let reporter = CardReporter(
      client: client, member: "anna", osVersion: "18.1", environment: .production,
      onFailure: collected.add, wait: pauses.add)
    let running = Task { await reporter.run() }
    try await body(reporter)
    running.cancel()
    await running.value
    return collected.all
  }

  private func wait(for count: Int, in transport: ScriptedTransport) async throws {
    for _ in 0..<5_000 where transport.requests.count < count {
      try await Task.sleep(for: .milliseconds(2))
    }
    #expect(transport.requests.count == count)
  }

  private let token = Data([0xAB, 0xCD])

  @Test func `tells a token once, whoever reports it and however often`() async throws {
    let transport = ScriptedTransport(.status(200))
    try await reporting(transport) { reporter in
      // From the property, then from the stream, then from a second follower.
      for _ in 0..<3 { await reporter.updateToken(token, of: "card", on: "t") }
      try await wait(for: 1, in: transport)
      await reporter.updateToken(token, of: "card", on: "t")
      await reporter.startToken(token)
      try await wait(for: 2, in: transport)
      await reporter.updateToken(Data([1]), of: "card", on: "t")
      try await wait(for: 3, in: transport)
    }
    let bodies = transport.requests.map { String(decoding: $0.body ?? Data(), as: UTF8.self) }
    #expect(
      bodies[0]
        == #"{"activityID":"card","activityToken":"abcd","environment":"production","#
        + #""member":"anna","osVersion":"18.1","trip":"t"}"#)
    #expect(bodies[1].contains(#""kind":"push-to-start""#) && !bodies[1].contains("activityID"))
    #expect(bodies[2].contains(#""activityToken":"01""#))
  }

  @Test func `takes the first end, and names no token of a card that is over`() async throws {
    let transport = ScriptedTransport(.status(204, ""), .status(200))
    try await reporting(transport) { reporter in
      await reporter.cardEnded("card", on: "t", wasDismissed: false)
      await reporter.cardEnded("card", on: "t", wasDismissed: true)
      await reporter.updateToken(token, of: "card", on: "t")
      await reporter.updateToken(token, of: "other", on: "t")
      try await wait(for: 2, in: transport)
    }
    let (end, other) = (transport.requests[0], transport.requests[1])
    #expect(end.method == "DELETE" && end.url.query?.contains("reason=ended") == true)
    #expect(String(decoding: other.body ?? Data(), as: UTF8.self).contains("other"))
  }

  @Test func `tells the newest when it could not tell before`() async throws {
    let transport = ScriptedTransport(
      .nothing, .status(401, problem(401, "unauthorized")), .status(200))
    try await reporting(transport) { reporter in
      await reporter.frequentUpdates(true, on: ["t"])
      try await wait(for: 3, in: transport)
      await reporter.frequentUpdates(true, on: ["t"])
      await reporter.frequentUpdates(false, on: ["t"])
      try await wait(for: 4, in: transport)
    }
    #expect(
      transport.requests.last?.body.map { String(decoding: $0, as: UTF8.self) }
        == #"{"frequentUpdates":false,"member":"anna"}"#)
  }

  @Test func `says what the service will not take, and does not tell it again`() async throws {
    let transport = ScriptedTransport(
      .status(404, problem(404, "unknown-member")), .status(200))
    let failures = try await reporting(transport) { reporter in
      await reporter.updateToken(token, of: "card", on: "t")
      try await wait(for: 1, in: transport)
      await reporter.updateToken(token, of: "card", on: "t")
      await reporter.startToken(token)
      try await wait(for: 2, in: transport)
    }
    #expect(failures.count == 1)
  }
}
