import Clocks
import FieldTrips
import FieldcastServer
import HTTP
import JSON
import Testing

@Suite struct `Bad input` {
  struct Case: Sendable, CustomTestStringConvertible {
    let what: String
    let method: String
    let path: String
    let body: [UInt8]
    let status: Int
    let problem: String
    var fields: [String: String] = [:]

    var testDescription: String { what }

    init(
      _ what: String, _ method: String, _ path: String, _ body: String, _ status: Int,
      _ problem: String, fields: [String: String] = [:]
    ) {
      self.init(what, method, path, bytes: Array(body.utf8), status, problem, fields: fields)
    }

    init(
      _ what: String, _ method: String, _ path: String, bytes: [UInt8], _ status: Int,
      _ problem: String, fields: [String: String] = [:]
    ) {
      self.what = what
      self.method = method
      self.path = path
      body = bytes
      self.status = status
      self.problem = problem
      self.fields = fields
    }
  }

  /// `TRIP` stands for a live trip's ID.
  static let cases: [Case] = [
    Case("malformed JSON", "POST", "/v1/trips", #"{"name":"#, 400, "malformed-json"),
    Case("no JSON at all", "POST", "/v1/trips", "hello", 400, "malformed-json"),
    Case("an empty body", "POST", "/v1/trips", "", 400, "malformed-json"),
    Case("a member twice", "POST", "/v1/trips", #"{"name":"a","name":"b"}"#, 400, "malformed-json"),
    Case(
      "a lone surrogate", "POST", "/v1/trips", #"{"name":"\ud800"}"#, 400, "malformed-json"),
    Case(
      "bytes that are no UTF-8", "POST", "/v1/trips",
      bytes: Array(#"{"name":""#.utf8) + [0xff, 0xfe] + Array(#""}"#.utf8), 400, "malformed-json"),
    Case(
      "nesting without end", "POST", "/v1/trips",
      #"{"name":"# + String(repeating: "[", count: 5_000), 413, "too-large"),
    Case("a name of the wrong type", "POST", "/v1/trips", #"{"name":7}"#, 400, "wrong-type"),
    Case("no name", "POST", "/v1/trips", #"{"notebook":"b"}"#, 400, "missing-field"),
    Case(
      "a member that is misspelt", "POST", "/v1/trips",
      #"{"name":"a","notebok":"b"}"#, 400, "unknown-field"),
    Case(
      "an end before the start", "POST", "/v1/trips",
      #"{"name":"a","notebook":"b","startsAt":4000000000,"endsAt":3999999999}"#, 400, "bad-time"),
    Case(
      "milliseconds for seconds", "POST", "/v1/trips",
      #"{"name":"a","notebook":"b","endsAt":1796033790328}"#, 400, "bad-date"),
    Case(
      "a huge number for a date", "POST", "/v1/trips",
      #"{"name":"a","notebook":"b","endsAt":1e400}"#, 400, "wrong-type"),
    Case(
      "an unknown activity type", "POST", "/v1/trips",
      #"{"name":"a","notebook":"b","type":"feild-trip"}"#, 400, "unknown-activity-type"),
    Case(
      "attributes over ActivityKit's limit", "POST", "/v1/trips",
      #"{"name":"\#(String(repeating: "a", count: 5_000))","notebook":"b"}"#, 400, "too-large"),
    Case(
      "a body over 64 KB", "POST", "/v1/trips",
      #"{"name":"\#(String(repeating: "a", count: 70_000))"}"#, 413, "content-too-large"),
    Case("an unknown trip", "GET", "/v1/trips/no-such-trip", "", 404, "unknown-trip"),
    Case(
      "a note for an unknown trip", "POST",
      "/v1/trips/00000000-0000-4000-8000-000000000000/notes", #"{"id":"a"}"#, 404, "unknown-trip"),
    Case("a note without an ID", "POST", "/v1/trips/TRIP/notes", #"{}"#, 400, "missing-field"),
    Case(
      "a note with a number for an ID", "POST", "/v1/trips/TRIP/notes", #"{"id":1}"#, 400,
      "wrong-type"),
    Case(
      "a note whose ID has a line break", "POST", "/v1/trips/TRIP/notes", #"{"id":"a\nb"}"#, 400,
      "bad-identifier"),
    Case(
      "a sequence that no integer holds", "POST", "/v1/trips/TRIP/notes",
      #"{"id":"a","sequence":123456789012345678901234567890}"#, 400, "wrong-type"),
    Case("an empty batch", "POST", "/v1/trips/TRIP/notes", "[]", 400, "bad-value"),
    Case(
      "a note that names another trip", "POST", "/v1/trips/TRIP/notes",
      #"{"id":"a","trip":"00000000-0000-4000-8000-000000000000"}"#, 400, "wrong-trip"),
    Case(
      "a state that the phone could not decode", "PUT", "/v1/trips/TRIP/content-state",
      #"{"id":"s","contentState":{"notesCaptured":"three"}}"#, 400, "wrong-type"),
    Case(
      "a state without a required field", "PUT", "/v1/trips/TRIP/content-state",
      #"{"id":"s","contentState":{"lastPlaceName":"Pond"}}"#, 400, "missing-field"),
    Case(
      "a counter below zero", "PUT", "/v1/trips/TRIP/content-state",
      #"{"id":"s","contentState":{"notesCaptured":-1}}"#, 400, "bad-value"),
    Case(
      "a counter at the end of its type", "PUT", "/v1/trips/TRIP/content-state",
      #"{"id":"s","contentState":{"notesCaptured":9223372036854775807}}"#, 400, "bad-value"),
    Case(
      "a final counter below zero", "POST", "/v1/trips/TRIP/end",
      #"{"id":"e","contentState":{"notesCaptured":-5}}"#, 400, "bad-value"),
    Case(
      "a revision that is no number", "PUT", "/v1/trips/TRIP/content-state",
      #"{"id":"s","contentState":{"notesCaptured":1}}"#, 400, "bad-value",
      fields: ["if-match": "seven"]),
    Case(
      "a revision that has passed", "PUT", "/v1/trips/TRIP/content-state",
      #"{"id":"s","contentState":{"notesCaptured":1}}"#, 412, "revision-mismatch",
      fields: ["if-match": "\"99\""]),
    Case(
      "a dismissal after five hours", "POST", "/v1/trips/TRIP/end",
      #"{"id":"e","dismissal":18000}"#, 400, "bad-time"),
    Case("a join without a member", "POST", "/v1/trips/TRIP/members", "{}", 400, "missing-field"),
    Case(
      "a join with a token that is none", "POST", "/v1/trips/TRIP/members",
      #"{"member":"a","deviceToken":"xyz"}"#, 400, "bad-identifier"),
    Case("a device without a token", "POST", "/v1/devices", "{}", 400, "missing-field"),
    Case(
      "a token that is no hex", "POST", "/v1/devices", #"{"deviceToken":"xyz1"}"#, 400,
      "bad-identifier"),
    Case(
      "an environment that is none", "POST", "/v1/devices",
      #"{"deviceToken":"abcdef12","environment":"sandbox"}"#, 400, "bad-value"),
    Case(
      "an environment that is not served", "POST", "/v1/devices",
      #"{"deviceToken":"abcdef12","environment":"production"}"#, 400, "bad-value"),
    Case(
      "a token of no card", "POST", "/v1/activity-tokens", #"{"activityToken":"abcdef12"}"#, 400,
      "missing-field"),
    Case(
      "a card that nobody knows", "POST", "/v1/activity-tokens",
      #"{"activityToken":"abcdef12","activityID":"never"}"#, 404, "unknown-activity"),
    Case(
      "a new card without its trip", "POST", "/v1/activity-tokens",
      #"{"activityToken":"abcdef12","activityID":"never","member":"a"}"#, 400, "missing-field"),
    Case(
      "a card of nobody on the trip", "POST", "/v1/activity-tokens",
      #"{"activityToken":"abcdef12","activityID":"never","member":"a","trip":"TRIP"}"#, 404,
      "unknown-member"),
    Case(
      "a card of no trip", "POST", "/v1/activity-tokens",
      #"{"activityToken":"ab","activityID":"n","member":"a","trip":"0c9d3a52-6a0e-4d4b-9f3e-0a5b6c7d8e9f"}"#,
      404, "unknown-trip"),
    Case(
      "a start token with a card", "POST", "/v1/activity-tokens",
      #"{"activityToken":"abcdef12","activityID":"n","kind":"push-to-start"}"#, 400, "bad-value"),
    Case("a path that is none", "GET", "/v2/trips", "", 404, "not-found"),
    Case("a method that is none", "DELETE", "/v1/trips", "", 405, "method-not-allowed"),
    Case("a limit that is none", "GET", "/v1/trips?limit=0", "", 400, "bad-value"),
    Case("a cursor that is none", "GET", "/v1/trips?cursor=xyz", "", 400, "bad-value"),
  ]

  @Test func `gets its documented answer by REST, and the service goes on`() async throws {
    try await World.with { world in
      try await world.withService { caller in
        let trip = try await caller.createTrip()
        for input in Self.cases {
          var fields: HTTPFields = [:]
          for (name, value) in input.fields { fields[name] = value }
          let body = String(validating: input.body, as: UTF8.self).map {
            Array($0.replacing("\"TRIP\"", with: "\"\(trip.id)\"").utf8)
          }
          let answer = try await caller.call(
            input.method, input.path.replacing("TRIP", with: trip.id), bytes: body ?? input.body,
            fields: fields)
          #expect(answer.status == input.status, "\(input.what): \(answer.text)")
          #expect(answer.problem == input.problem, "\(input.what): \(answer.text)")
          #expect(
            answer.fields["content-type"] == "application/problem+json", "\(input.what)")
          #expect(answer.body["detail"]?.string?.isEmpty == false, "\(input.what)")
        }
        let read = try await caller.call("GET", "/v1/trips/\(trip.id)")
        #expect(read.status == 200)
        #expect(read.body["revision"]?.int64 == 1)
      }
    }
  }

  @Test func `goes to the dead letters from the other doors, with its reason`() async throws {
    try await World.with { world in
      try await world.withService { caller in
        let trip = try await caller.createTrip()
        let unknown = "00000000-0000-4000-8000-000000000000"
        let bad: [(String, String)] = [
          ("nonsense", "malformedJSON"), (#"{"id":"x"}"#, "missingField"),
          (#"{"id":"x","trip":"\#(unknown)"}"#, "unknownTrip"),
          (#"{"id":7,"trip":"\#(trip.id)"}"#, "wrongType"),
          (#"{"id":"x","trip":"\#(trip.id)","plaze":"Pond"}"#, "unknownField"),
        ]
        for (note, _) in bad {
          try await caller.add(toStream: note)
          try await caller.publish(note)
        }
        try await caller.add(toStream: #"{"id":"good","trip":"\#(trip.id)"}"#)
        try await world.waitForBroadcast(on: trip.channelID, notes: 1)
        var reasons: [String] = []
        for _ in 0..<200 where reasons.count < 2 * bad.count {
          reasons = try await caller.deadLetterReasons()
          if reasons.count < 2 * bad.count { try await world.loop.sleep(for: .milliseconds(20)) }
        }
        #expect(reasons.sorted() == bad.flatMap { [$0.1, $0.1] }.sorted())
      }
    }
  }

  @Test func `does not reach a trip that has ended`() async throws {
    try await World.with { world in
      try await world.withService { caller in
        let trip = try await caller.createTrip()
        _ = try await caller.call("POST", "/v1/trips/\(trip.id)/end")
        let late = try await caller.call("POST", "/v1/trips/\(trip.id)/notes", #"{"id":"late"}"#)
        #expect(late.status == 409)
        #expect(late.problem == "ended-trip")
        let twice = try await caller.call("POST", "/v1/trips/\(trip.id)/end")
        #expect(twice.status == 202)
        #expect(twice.body["status"]?.string == "duplicate")
        await world.waitUntilNoChannelIsLeft()
        let join = try await caller.call(
          "POST", "/v1/trips/\(trip.id)/members", #"{"member":"late"}"#)
        #expect(join.problem == "ended-trip")
      }
    }
  }

  @Test func `in an Idempotency-Key is told, and the same request is answered alike`()
    async throws
  {
    try await World.with { world in
      try await world.withService { caller in
        let body = #"{"name":"Walk","notebook":"Birds"}"#
        let key: HTTPFields = ["idempotency-key": "one"]
        let first = try await caller.call("POST", "/v1/trips", body, fields: key)
        let again = try await caller.call("POST", "/v1/trips", body, fields: key)
        #expect(first.status == 201 && again.status == 201)
        #expect(first.text == again.text)
        let other = try await caller.call(
          "POST", "/v1/trips", #"{"name":"Other","notebook":"Birds"}"#, fields: key)
        #expect(other.status == 422)
        #expect(other.problem == "idempotency-key-reused")
        let list = try await caller.call("GET", "/v1/trips")
        #expect(list.body["trips"]?.array?.count == 1)
      }
    }
  }
}
