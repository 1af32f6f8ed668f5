import APNsSimulator
import Clocks
import FieldTrips
import FieldcastServer
import Foundation
import JSON
import Redis
import Testing
import Transport

@Suite struct `A trip's timeline` {
  /// The trigger's story, wherever in the timeline it stands.
  private func story(of id: String, in timeline: JSONValue) -> String? {
    let places =
      (timeline["broadcasts"]?.array ?? []) + [timeline["waiting"] ?? .null]
    for place in places {
      for trigger in place["triggers"]?.array ?? [] where trigger["id"]?.string == id {
        return trigger["text"]?.string
      }
    }
    return nil
  }

  private func summary(of timeline: JSONValue) -> String {
    (timeline["summary"]?.array ?? []).compactMap(\.string).joined(separator: " ")
  }

  @Test func `tells of each note how long it waited, for what, and what became of it`()
    async throws
  {
    try await World.with { world in
      func fewTokens(_ configuration: inout ServiceConfiguration) {
        configuration.policy.budgetPerHour = 30
        configuration.policy.burst = 2
      }
      try await world.withService(fewTokens) { caller in
        // Far from any milestone, which would not wait.
        let trip = try await caller.createTrip(
          #"{"name":"Walk","notebook":"Birds","contentState":{"notesCaptured":51}}"#)
        let path = "/v1/trips/\(trip.id)"
        _ = try await caller.call(
          "POST", path + "/members", #"{"member":"old","osVersion":"16.4"}"#)
        _ = try await caller.call("POST", path + "/notes", #"{"id":"first","significant":true}"#)
        try await world.waitForBroadcast(on: trip.channelID, notes: 52)
        // Overdraws the bucket, so that what follows waits.
        _ = try await caller.call(
          "POST", path + "/notes", #"{"id":"second","significant":true}"#)
        try await world.waitForBroadcast(on: trip.channelID, notes: 53)
        let notes = (1...20).map { #"{"id":"n\#($0)"}"# }.joined(separator: ",")
        _ = try await caller.call("POST", path + "/notes", "[\(notes)]")
        try await world.waitUntil("all of it is published") {
          let read = try await caller.call("GET", path)
          return read.body["publishedRevision"]?.int64 == 23
        }
        let answer = try await caller.call("GET", path + "/timeline")
        #expect(answer.status == 200)
        let timeline = answer.body
        #expect(
          summary(of: timeline).hasPrefix(
            "Phones that listen to the channel show revision 23, since "), "\(answer.text)")
        #expect(summary(of: timeline).contains("Nothing waits."))
        #expect(
          summary(of: timeline).contains(
            "1 member does not listen to the channel and gets no broadcast: 1 without any token."))
        let first = try #require(story(of: "first", in: timeline))
        #expect(first.contains("made revision 2"))
        let held = try #require(story(of: "n1", in: timeline), "\(answer.text)")
        #expect(held.contains("made revision 4"))
        let reasons = [
          "one broadcast was to carry the notes that come close together",
          "the channel's budget had no token before",
        ]
        #expect(reasons.contains { held.contains($0) }, "\(held)")
        #expect(held.hasSuffix(", together with 19 more."))
        // Of a burst the first and the last are kept, and the rest is counted.
        let carrier = try #require(
          timeline["broadcasts"]?.array?.first {
            $0["triggers"]?.array?.contains { $0["id"]?.string == "n1" } == true
          })
        #expect(carrier["triggers"]?.array?.count == 16)
        #expect(carrier["triggersLeftOut"]?.int64 == 4)
        #expect(carrier["triggers"]?.array?.last?["id"]?.string == "n20")
        #expect(carrier["priority"]?.int64 == 10)
        #expect(["gathering", "budget"].contains(carrier["hold"]?.string))
        #expect(carrier["answer"]?.string == "200")
        #expect(carrier["timestamp"]?.int64 != nil)
        let unknown = try await caller.call(
          "GET", "/v1/trips/00000000-0000-4000-8000-000000000000/timeline")
        #expect(unknown.problem == "unknown-trip")
      }
    }
  }

  @Test func `names throttling, and the budget that is used up`() async throws {
    try await World.with { world in
      func twoTokens(_ configuration: inout ServiceConfiguration) {
        configuration.policy.burst = 2
        configuration.policy.isTailOn = false
      }
      try await world.withService(twoTokens) { caller in
        let trip = try await caller.createTrip()
        let path = "/v1/trips/\(trip.id)"
        try await world.waitForBroadcast(on: trip.channelID, notes: 0)
        var throttled = SimulatorFaults()
        throttled.throttled.share = 1
        try await world.simulator.setFaults(throttled)
        _ = try await caller.call("POST", path + "/notes", #"{"id":"a"}"#)
        var timeline = JSONValue.null
        try await world.waitUntil("a broadcast was throttled") {
          timeline = try await caller.call("GET", path + "/timeline").body
          return timeline["broadcasts"]?.array?.contains {
            $0["outcome"]?.string == "throttled"
          } == true
        }
        let send = try #require(timeline["broadcasts"]?.array?.last)
        #expect(send["answer"]?.string == "429 TooManyRequests")
        #expect(send["text"]?.string?.contains("was throttled (429 TooManyRequests)") == true)
        #expect(summary(of: timeline).contains("1 change up to revision 2 waits"))
        #expect(story(of: "a", in: timeline)?.hasSuffix("made revision 2, and waits.") == true)
        try await world.simulator.setFaults(SimulatorFaults())
        try await world.waitForBroadcast(on: trip.channelID, notes: 1)
        // The bucket was emptied by the 429, so what comes now waits for a token.
        _ = try await caller.call("POST", path + "/notes", #"[{"id":"b"},{"id":"c"}]"#)
        try await world.waitForBroadcast(on: trip.channelID, notes: 3)
        try await world.waitUntil("it is noted") {
          timeline = try await caller.call("GET", path + "/timeline").body
          return story(of: "c", in: timeline)?.contains("went out") == true
        }
        let last = try #require(timeline["broadcasts"]?.array?.last)
        #expect(["budget", "pause"].contains(last["hold"]?.string), "\(last)")
      }
    }
  }

  @Test func `outlives the service, and the command explains it`() async throws {
    try await World.with { world in
      func slow(_ configuration: inout ServiceConfiguration) {
        configuration.policy.budgetPerHour = 1
        configuration.policy.burst = 2
      }
      var known: TestCaller.Trip?
      try await world.withService(slow) { caller in
        let trip = try await caller.createTrip()
        known = trip
        try await world.waitForBroadcast(on: trip.channelID, notes: 0)
        // Two tokens, for two notes that do not wait.
        for (number, id) in ["early", "shown"].enumerated() {
          _ = try await caller.call(
            "POST", "/v1/trips/\(trip.id)/notes", #"{"id":"\#(id)","significant":true}"#)
          try await world.waitForBroadcast(on: trip.channelID, notes: Int64(number) + 1)
        }
        _ = try await caller.call("POST", "/v1/trips/\(trip.id)/notes", #"{"id":"waits"}"#)
        try await world.waitUntil("the note is committed") {
          let read = try await caller.call("GET", "/v1/trips/\(trip.id)")
          return read.body["revision"]?.int64 == 4
        }
      }
      let trip = try #require(known)
      try await world.withService(slow) { caller, service in
        let text = try await explain(trip.id, service.port, world)
        #expect(text.hasPrefix("Spring walk, live, at "), "\(text)")
        #expect(text.contains("change up to revision 4 waits"), "\(text)")
        #expect(text.contains("What waits\n"))
        #expect(text.contains("- Note waits came at "))
        #expect(text.contains("- Note shown came at "))
        #expect(text.split(separator: "\n").allSatisfy { $0.count <= 80 }, "\(text)")
        let json = try await explain(trip.id, service.port, world, "--json")
        let value = try JSONValue.parse(Array(json.utf8.dropLast()))
        #expect(value["waiting"]?["triggers"]?.array?.first?["id"]?.string == "waits")
        #expect(value["kept"]?["broadcasts"]?.int64 == 64)
      }
    }
  }

  /// Runs the built program as a person does.
  private func explain(
    _ trip: String, _ port: Int, _ world: World, _ words: String...
  ) async throws -> String {
    let answer = try await world.run(
      ["trips", "explain", trip, "--service", "127.0.0.1:\(port)"] + words)
    #expect(answer.status == 0)
    return answer.output
  }
}
