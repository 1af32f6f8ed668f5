import Clocks
import FieldcastServer
import HTTP
import JSON
import Synchronization
import Testing
import Transport

/// Takes spans as an OpenTelemetry collector does.
private final class Collector: Sendable {
  private struct State {
    var spans: [JSONValue] = []
    var requests = 0
    var status: Int
  }

  private let state: Mutex<State>

  init(status: Int = 200) { state = Mutex(State(status: status)) }

  var spans: [JSONValue] { state.withLock(\.spans) }
  var requests: Int { state.withLock(\.requests) }

  func answer(_ status: Int) { state.withLock { $0.status = status } }

  private func take(_ request: HTTPRequest) -> HTTPResponse {
    state.withLock { state in
      state.requests += 1
      guard request.method == "POST", request.path == "/v1/traces", state.status == 200,
        let body = try? JSONValue.parse(request.body)
      else { return HTTPResponse(status: state.status == 200 ? 400 : state.status) }
      for resource in body["resourceSpans"]?.array ?? [] {
        for scope in resource["scopeSpans"]?.array ?? [] {
          state.spans += scope["spans"]?.array ?? []
        }
      }
      return HTTPResponse(
        status: 200, fields: ["content-type": "application/json"], body: Array("{}".utf8))
    }
  }

  /// Runs a service whose spans come here.
  func withService(
    in world: World, _ body: (TestCaller) async throws -> Void
  ) async throws {
    let server = try await HTTPServer.start(
      on: .tcp(host: "127.0.0.1", port: 0), loop: world.loop
    ) { request, _ in .response(self.take(request)) }
    let port = await server.port()
    try await world.withService(
      {
        $0.collector = TraceCollector(
          endpoint: .tcp(host: "127.0.0.1", port: port), tls: nil, authority: "127.0.0.1:\(port)",
          path: "/v1/traces")
      }, body)
    await server.drain(grace: .zero)
  }
}

@Suite(.timeLimit(.minutes(2))) struct `Traces of callers` {
  private static let trace = "4bf92f3577b34da6a3ce929d0e0e4736"
  private static let span = "00f067aa0ba902b7"
  private static let parent = "00-\(trace)-\(span)-01"

  private func text(_ value: JSONValue, _ key: String) -> String { value[key]?.string ?? "" }

  private func fact(_ span: JSONValue, _ name: String) -> JSONValue? {
    span["attributes"]?.array?.first { $0["key"]?.string == name }?["value"]
  }

  /// Hands in the first note of a trip, with a trace.
  private func captureTraced(_ caller: TestCaller) async throws {
    let trip = try await caller.createTrip()
    let answer = try await caller.call(
      "POST", "/v1/trips/\(trip.id)/notes", #"{"id": "one"}"#,
      fields: ["traceparent": Self.parent])
    #expect(answer.status == 202)
  }

  @Test func `go on from REST to the broadcast`() async throws {
    let collector = Collector()
    try await World.with(speed: 1) { world in
      try await collector.withService(in: world) { caller in
        let trip = try await caller.createTrip()
        let answer = try await caller.call(
          "POST", "/v1/trips/\(trip.id)/notes", #"[{"id": "one"}, {"id": "two"}]"#,
          fields: ["traceparent": Self.parent])
        #expect(answer.status == 202)
        try await world.waitForBroadcast(on: trip.channelID, notes: 2)
        try await world.waitUntil("the spans are there") { collector.spans.count == 8 }
        let roots = collector.spans.filter { text($0, "parentSpanId") == Self.span }
        #expect(roots.map { text($0, "name") } == ["fieldcast trigger", "fieldcast trigger"])
        #expect(
          Set(roots.map { fact($0, "fieldcast.trigger")?["stringValue"]?.string })
            == ["one", "two"])
        for root in roots {
          #expect(fact(root, "fieldcast.trip")?["stringValue"]?.string == trip.id)
          let parts = collector.spans.filter {
            text($0, "parentSpanId") == text(root, "spanId")
          }
          #expect(parts.map { text($0, "name") } == ["commit", "wait", "broadcast"])
          #expect(text(parts[0], "startTimeUnixNano") == text(root, "startTimeUnixNano"))
          #expect(text(parts[2], "endTimeUnixNano") == text(root, "endTimeUnixNano"))
          #expect(fact(parts[2], "fieldcast.priority")?["intValue"]?.string == "10")
          #expect(fact(parts[2], "fieldcast.outcome")?["stringValue"]?.string == "accepted")
        }
        #expect(collector.spans.allSatisfy { text($0, "traceId") == Self.trace })
        #expect(Set(collector.spans.map { text($0, "spanId") }).count == 8)
      }
    }
  }

  @Test func `go on from the stream, and only where the caller keeps them`() async throws {
    let collector = Collector()
    try await World.with(speed: 1) { world in
      try await collector.withService(in: world) { caller in
        let trip = try await caller.createTrip()
        try await caller.add(
          toStream:
            #"{"id": "a", "trip": "\#(trip.id)", "traceparent": "00-\#(Self.trace)-\#(Self.span)-00"}"#
        )
        try await caller.add(toStream: #"{"id": "b", "trip": "\#(trip.id)"}"#)
        try await caller.add(
          toStream: #"{"id": "c", "trip": "\#(trip.id)", "traceparent": "\#(Self.parent)"}"#)
        try await world.waitForBroadcast(on: trip.channelID, notes: 3)
        try await world.waitUntil("the spans are there") { collector.spans.count >= 4 }
        let roots = collector.spans.filter { text($0, "name") == "fieldcast trigger" }
        #expect(roots.map { fact($0, "fieldcast.trigger")?["stringValue"]?.string } == ["c"])
      }
    }
  }

  @Test func `wait for a collector that is not there for a while`() async throws {
    let collector = Collector(status: 503)
    try await World.with(speed: 1) { world in
      try await collector.withService(in: world) { caller in
        try await captureTraced(caller)
        try await world.waitUntil("it was tried") { collector.requests >= 2 }
        #expect(collector.spans.isEmpty)
        collector.answer(200)
        try await world.waitUntil("the spans are there") { collector.spans.count == 4 }
        let metrics = try await caller.call("GET", "/metrics")
        #expect(metrics.text.contains(#"fieldcast_spans_total{outcome="exported"} 4"#))
        #expect(metrics.text.contains(#"fieldcast_spans_total{outcome="dropped"} 0"#))
      }
    }
  }

  @Test func `are left out and counted where the collector refuses them`() async throws {
    let collector = Collector(status: 400)
    try await World.with(speed: 1) { world in
      try await collector.withService(in: world) { caller in
        try await captureTraced(caller)
        try await world.waitUntil("they are counted") {
          try await caller.call("GET", "/metrics").text
            .contains(#"fieldcast_spans_total{outcome="dropped"} 4"#)
        }
        #expect(collector.requests == 1)
      }
    }
  }
}
