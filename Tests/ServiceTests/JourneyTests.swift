import APNsSimulator
import Clocks
import FieldTrips
import FieldcastServer
import JSON
import Redis
import Testing

@Suite struct `A group's trip` {
  @Test func `goes from creation by all three doors to every phone, and leaves no channel`()
    async throws
  {
    try await World.with { world in
      try await world.withService { caller in
        let trip = try await caller.createTrip()
        let joined = try await caller.call(
          "POST", "/v1/trips/\(trip.id)/members", #"{"member":"ana","osVersion":"18.1"}"#)
        #expect(joined.status == 200)
        #expect(joined.body["channelID"]?.string == trip.channelID)
        #expect(joined.body["reach"]?.string == "channel")
        #expect(joined.body["attributesType"]?.string == "FieldTripAttributes")
        #expect(joined.body["staleDate"]?.int64 != nil)
        try await world.addPhones(25, to: trip.channelID, showing: trip.contentState)

        let note = try await caller.call(
          "POST", "/v1/trips/\(trip.id)/notes", #"{"id":"a","place":"Pond","sequence":1}"#)
        #expect(note.status == 202)
        #expect(note.body["notes"]?.array?.first?["status"]?.string == "accepted")
        try await caller.publish(
          #"{"id":"b","trip":"\#(trip.id)","place":"Meadow","sequence":2}"#)
        try await caller.add(
          toStream: #"{"id":"c","trip":"\#(trip.id)","place":"Tower","sequence":3}"#)
        try await world.waitForPhones(on: trip.channelID) {
          $0["notesCaptured"]?.int64 == 3 && $0["lastPlaceName"]?.string == "Tower"
        }

        let end = try await caller.call("POST", "/v1/trips/\(trip.id)/end")
        #expect(end.status == 202)
        await world.waitUntilNoChannelIsLeft()
        let ledger = try #require(await world.ledger(of: trip.channelID))
        #expect(ledger.endedAt != nil)
        expectOrder(in: ledger)
        #expect(ledger.acceptedAfterEnd == 0)
        #expect(ledger.complaints == 0)
      }
    }
  }

  @Test func `counts a note once, whatever doors it comes by and however often`() async throws {
    try await World.with { world in
      try await world.withService { caller in
        let trip = try await caller.createTrip()
        try await world.addPhones(1, to: trip.channelID, showing: trip.contentState)
        for _ in 0..<3 {
          let body = #"{"id":"same","trip":"\#(trip.id)","place":"Pond"}"#
          _ = try await caller.call("POST", "/v1/trips/\(trip.id)/notes", body)
          try await caller.publish(body)
          try await caller.add(toStream: body)
        }
        let again = try await caller.call(
          "POST", "/v1/trips/\(trip.id)/notes", #"{"id":"same","place":"Pond"}"#)
        #expect(again.body["notes"]?.array?.first?["status"]?.string == "duplicate")
        _ = try await caller.call("POST", "/v1/trips/\(trip.id)/notes", #"{"id":"last"}"#)
        try await world.waitForPhones(on: trip.channelID) { $0["notesCaptured"]?.int64 == 2 }
        let read = try await caller.call("GET", "/v1/trips/\(trip.id)")
        #expect(read.body["contentState"]?["notesCaptured"]?.int64 == 2)
        #expect(try await caller.deadLetterReasons().isEmpty)
      }
    }
  }

  @Test func `conflates a burst, and stays within the budget of its channel`() async throws {
    try await World.with(speed: 20) { world in
      func shortBurst(_ configuration: inout ServiceConfiguration) {
        configuration.policy.burst = 3
      }
      try await world.withService(shortBurst) { caller in
        let trip = try await caller.createTrip()
        try await world.addPhones(5, to: trip.channelID, showing: trip.contentState)
        for batch in 0..<20 {
          let notes = (0..<10).map { #"{"id":"n\#(batch)-\#($0)"}"# }.joined(separator: ",")
          let answer = try await caller.call(
            "POST", "/v1/trips/\(trip.id)/notes", "[\(notes)]")
          #expect(answer.status == 202)
        }
        try await world.waitForPhones(on: trip.channelID) { $0["notesCaptured"]?.int64 == 200 }
        let ledger = try #require(await world.ledger(of: trip.channelID))
        // Some seconds have passed, at a token a minute: the burst, the overdraft, a few more.
        #expect(ledger.acceptedByPriority[10] ?? 0 <= 3 + 5 + 8)
        expectOrder(in: ledger)
      }
    }
  }

  @Test func `sends the newest state after APNs throttled it, and not the one that failed`()
    async throws
  {
    func tightBudget(_ configuration: inout SimulatorConfiguration) {
      configuration.channels.storingBudget = BucketRate(capacity: 2, interval: .seconds(40))
    }
    try await World.with(configure: tightBudget) { world in
      try await world.withService { caller in
        let trip = try await caller.createTrip()
        try await world.addPhones(3, to: trip.channelID, showing: trip.contentState)
        for number in 1...12 {
          _ = try await caller.call(
            "POST", "/v1/trips/\(trip.id)/notes", #"{"id":"n\#(number)","significant":true}"#)
        }
        try await world.waitForPhones(on: trip.channelID) { $0["notesCaptured"]?.int64 == 12 }
        let ledger = try #require(await world.ledger(of: trip.channelID))
        #expect(ledger.throttled > 0)
        expectOrder(in: ledger)
      }
    }
  }

  @Test func `gets a new channel when APNs has lost its own`() async throws {
    try await World.with { world in
      try await world.withService { caller in
        let trip = try await caller.createTrip()
        await world.loseChannels()
        _ = try await caller.call("POST", "/v1/trips/\(trip.id)/notes", #"{"id":"a"}"#)
        var replaced = trip.channelID
        for _ in 0..<200 where replaced == trip.channelID {
          try await world.loop.sleep(for: .milliseconds(50))
          let read = try await caller.call("GET", "/v1/trips/\(trip.id)")
          replaced = read.body["channel"]?["id"]?.string ?? replaced
        }
        #expect(replaced != trip.channelID)
        try await world.addPhones(1, to: replaced, showing: trip.contentState)
        try await world.waitForPhones(on: replaced) { $0["notesCaptured"]?.int64 == 1 }
      }
    }
  }

  @Test func `ends by itself at its time, without anybody asking`() async throws {
    try await World.with(speed: 300) { world in
      try await world.withService { caller in
        let end = DateText.format(world.clock.wall + .seconds(600))
        let trip = try await caller.createTrip(
          #"{"name":"Short walk","notebook":"Birds","dismissal":"atOnce","endsAt":"\#(end)"}"#)
        try await world.addPhones(2, to: trip.channelID, showing: trip.contentState)
        await world.waitUntilNoChannelIsLeft()
        let ledger = try #require(await world.ledger(of: trip.channelID))
        #expect(ledger.endedAt != nil)
        #expect(ledger.acceptedAfterEnd == 0)
      }
    }
  }

  @Test func `goes on under the next service when the first one stopped in order`() async throws {
    try await World.with { world in
      var trip: TestCaller.Trip?
      try await world.withService { caller in
        trip = try await caller.createTrip()
        _ = try await caller.call(
          "POST", "/v1/trips/\(try #require(trip).id)/notes", #"{"id":"a"}"#)
      }
      let known = try #require(trip)
      try await world.addPhones(2, to: known.channelID, showing: known.contentState)
      try await world.withService { caller in
        _ = try await caller.call("POST", "/v1/trips/\(known.id)/notes", #"{"id":"b"}"#)
        try await world.waitForPhones(on: known.channelID) { $0["notesCaptured"]?.int64 == 2 }
        let ledger = try #require(await world.ledger(of: known.channelID))
        expectOrder(in: ledger)
      }
    }
  }
}
