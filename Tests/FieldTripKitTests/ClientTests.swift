import Foundation
import Testing

@testable import FieldTripKit

@Suite struct `The client` {
  let pauses = Pauses()

  func client(
    _ transport: ScriptedTransport, retries: RetryPolicy = RetryPolicy(),
    service: String = "https://fieldcast.example.com/live/"
  ) throws -> FieldcastClient {
    FieldcastClient(
      service: try #require(URL(string: service)), transport: transport, retries: retries,
      token: { "secret" }, wait: pauses.add)
  }

  @Test func `asks again, with one key and growing pauses, while there is no answer`() async throws
  {
    let transport = ScriptedTransport(
      .nothing, .status(502, "<html>bad gateway</html>"),
      .status(503, problem(503, "store-unavailable")), .status(201, reply))
    let trip: TripReply<FieldTripAttributes> = try await client(transport).create(
      NewTrip(name: "Birds", notebook: "Spring"))
    #expect(trip.phase == .live)
    let keys = Set(transport.requests.map { $0.fields["idempotency-key"] })
    #expect(keys.count == 1 && keys.first??.isEmpty == false)
    #expect(Set(transport.requests.map(\.body)).count == 1)
    #expect(transport.requests.allSatisfy { $0.fields["authorization"] == "Bearer secret" })
    let bounds: [(Duration, Duration)] = [
      (.milliseconds(250), .milliseconds(500)), (.milliseconds(500), .seconds(1)),
      (.seconds(1), .seconds(2)),
    ]
    #expect(pauses.all.count == 3)
    for (pause, bound) in zip(pauses.all, bounds) {
      #expect(pause >= bound.0 && pause <= bound.1)
    }
  }

  @Test func `never comes back before the service wants it to`() async throws {
    let busy = ScriptedTransport.Answer.status(
      429, problem(429, "too-many-requests"), ["Retry-After": "7"])
    let transport = ScriptedTransport(busy, busy, .status(204, ""))
    try await client(transport).leave("t", member: "anna")
    #expect(pauses.all.count == 2)
    #expect(pauses.all.allSatisfy { $0 >= .seconds(7) && $0 <= .seconds(8) })
  }

  @Test func `does not wait for a service that wants to be left alone for long`() async throws {
    let transport = ScriptedTransport(
      .status(503, problem(503, "starting"), ["retry-after": "3600"]))
    let error = await #expect(throws: FieldcastError.self) {
      try await client(transport).leave("t", member: "anna")
    }
    #expect(error?.retryAfter == .seconds(3_600))
    #expect(error?.isPassing == true)
    #expect(transport.requests.count == 1 && pauses.all.isEmpty)
  }

  @Test func `reads a pause that is given as a date`() throws {
    let now = Date(timeIntervalSince1970: 784_111_777)
    #expect(RetryAfter.read("Sun, 06 Nov 1994 08:50:37 GMT", now: now) == .seconds(60))
    #expect(RetryAfter.read("Sun, 06 Nov 1994 08:49:00 GMT", now: now) == .zero)
    #expect(RetryAfter.read("soon", now: now) == nil)
    #expect(RetryAfter.read("-3", now: now) == nil)
  }

  @Test func `says what the service said, once, when asking again would not help`() async throws {
    let text = #"""
      {"type":"urn:fieldcast:problem:bad-date","title":"A date","status":400,"detail":"d",
       "errors":[{"code":"badDate","pointer":"/endsAt","message":"m"}],"new":{"x":1}}
      """#
    let transport = ScriptedTransport(.status(400, text))
    let client = try client(transport)
    do throws(FieldcastError) {
      let _: TripReply<FieldTripAttributes> = try await client.create(NewTrip(name: "Birds"))
      Issue.record("it was created")
    } catch .refused(let problem, _) {
      #expect(problem.kind == "bad-date" && problem.errors?.first?.pointer == "/endsAt")
    }
    #expect(transport.requests.count == 1)
  }

  @Test func `gives up after as many attempts as it may`() async throws {
    let transport = ScriptedTransport(.nothing)
    let error = await #expect(throws: FieldcastError.self) {
      try await client(transport, retries: RetryPolicy(attempts: 3)).leave("t", member: "anna")
    }
    guard case .unreachable = error else { throw try #require(error) }
    #expect(transport.requests.count == 3)
    await #expect(throws: FieldcastError.self) {
      try await client(transport, retries: .never).leave("t", member: "anna")
    }
    #expect(transport.requests.count == 4)
  }

  @Test func `asks again for a request that is still under way elsewhere`() async throws {
    let transport = ScriptedTransport(
      .status(409, problem(409, "request-in-progress"), ["retry-after": "1"]), .status(201, reply))
    let trip: TripReply<FieldTripAttributes> = try await client(transport).create(
      NewTrip(name: "Birds", notebook: "Spring"))
    #expect(trip.trip == "t")
    #expect(transport.requests.count == 2)
  }

  @Test func `ends when its task is cancelled, in a request as well as in a pause`() async throws {
    let silent = try client(ScriptedTransport(.silence))
    let task = Task { () async -> FieldcastError? in
      do throws(FieldcastError) { try await silent.end("t") } catch { return error }
      return nil
    }
    task.cancel()
    #expect(await task.value == .cancelled)
    let failing = ScriptedTransport(.nothing)
    let waiting = FieldcastClient(
      service: silent.service, transport: failing, retries: RetryPolicy(),
      wait: { _ in throw CancellationError() })
    await #expect(throws: FieldcastError.cancelled) { try await waiting.end("t") }
    #expect(failing.requests.count == 1)
  }

  @Test func `keeps what an ID holds out of the way of the path`() async throws {
    let transport = ScriptedTransport(.status(204, ""))
    try await client(transport).cardEnded(
      "a/b?c#d", wasDismissed: true, member: "Ünal & 100%", trip: "t")
    #expect(
      transport.requests.first?.url.absoluteString
        == "https://fieldcast.example.com/live/v1/activity-tokens/a%2Fb%3Fc%23d"
        + "?reason=dismissed&trip=t&member=%C3%9Cnal%20%26%20100%25")
  }

  @Test func `says which part of an answer it cannot read`() async throws {
    let transport = ScriptedTransport(
      .status(200, reply.replacing(#""revision":1"#, with: #""revision":"one""#)))
    let client = try client(transport)
    do throws(FieldcastError) {
      let _: TripReply<FieldTripAttributes> = try await client.trip("t")
      Issue.record("it was read")
    } catch .unreadable(let status, let reason) {
      #expect(status == 200 && reason.contains("/revision"))
    }
  }

  @Test func `sends many notes in requests that the service takes`() async throws {
    let transport = ScriptedTransport(.status(202, #"{"notes":[]}"#))
    let place = String(repeating: "x", count: 1_000)
    let notes = (0..<200).map { CapturedNote(id: "n\($0)", place: place) }
    _ = try await client(transport).capture(notes, on: "t")
    let bodies = transport.requests.compactMap(\.body)
    #expect(bodies.count > 1 && bodies.allSatisfy { $0.count <= 65_536 })
    let sent = try bodies.flatMap {
      try FieldcastCoding.decode([CapturedNote].self, from: $0).map(\.id)
    }
    #expect(sent == notes.map(\.id))
  }

  /// A trip as an older service might have written it, and with more than this build knows.
  private let reply = #"""
    {"trip":"t","name":"Birds","phase":"live","contentState":{"notesCaptured":0,"mood":"good"},
     "revision":1,"publishedRevision":0,"startsAt":"2026-05-02T12:00:00Z",
     "endsAt":"2026-05-02T20:00:00.250Z","weather":{"rain":true}}
    """#
}
