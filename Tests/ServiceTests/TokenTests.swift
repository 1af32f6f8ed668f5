import APNsSimulator
import Clocks
import FieldTrips
import FieldcastServer
import HTTP
import JSON
import Testing

@Suite struct `A token that an app registers` {
  private let token = String(repeating: "ab", count: 32)

  @Test func `is kept beside the others of its person`() async throws {
    try await World.with { world in
      try await world.withService { caller in
        let device = try await caller.call(
          "POST", "/v1/devices",
          #"{"deviceToken":"\#(token)","member":"anna","osVersion":"17.4"}"#)
        #expect(device.status == 200, "\(device.text)")
        #expect(device.body["environment"]?.string == "development")
        #expect(device.body["osVersion"]?.string == "17.4")
        #expect(device.body["firstSeen"]?.string == device.body["lastSeen"]?.string)
        #expect(!device.text.contains(token), "an answer must not hold a token")
        let bare = try await caller.call("POST", "/v1/devices", #"{"deviceToken":"\#(token)"}"#)
        #expect(bare.status == 200, "\(bare.text)")

        // Known before the join, and after it: the trip counts how cards can be started.
        _ = try await caller.call(
          "POST", "/v1/activity-tokens",
          #"{"activityToken":"cd\#(token)","kind":"push-to-start","member":"anna"}"#)
        let trip = try await caller.createTrip()
        for member in ["anna", "bela"] {
          _ = try await caller.call(
            "POST", "/v1/trips/\(trip.id)/members",
            #"{"member":"\#(member)","osVersion":"17.4"}"#)
        }
        #expect(try await reaches(trip, caller) == [0, 0, 1, 1])
        let start = try await caller.call(
          "POST", "/v1/activity-tokens",
          #"{"activityToken":"ef\#(token)","kind":"push-to-start","member":"bela"}"#)
        #expect(start.body["kind"]?.string == "push-to-start", "\(start.text)")
        #expect(try await reaches(trip, caller) == [0, 0, 2, 0])
      }
    }
  }

  @Test func `of a card may name its trip and member once, and then the card alone`() async throws {
    try await World.with { world in
      try await world.withService { caller in
        let trip = try await caller.createTrip()
        _ = try await caller.call(
          "POST", "/v1/trips/\(trip.id)/members", #"{"member":"anna","osVersion":"17.4"}"#)
        let first = try await caller.call(
          "POST", "/v1/activity-tokens",
          #"{"activityToken":"01\#(token)","activityID":"A","member":"anna","trip":"\#(trip.id)"}"#)
        #expect(first.status == 200, "\(first.text)")
        #expect(first.body["reach"]?.string == "updateToken")
        let rotated = try await caller.call(
          "POST", "/v1/activity-tokens", #"{"activityToken":"02\#(token)","activityID":"A"}"#)
        #expect(rotated.body["member"]?.string == "anna", "\(rotated.text)")
        #expect(rotated.body["trip"]?.string == trip.id)
        #expect(try await reaches(trip, caller) == [0, 1, 0, 0])
      }
    }
  }

  /// `channel`, `updateToken`, `startToken`, `none`.
  private func reaches(_ trip: TestCaller.Trip, _ caller: TestCaller) async throws -> [Int64?] {
    let read = try await caller.call("GET", "/v1/trips/\(trip.id)")
    return ["channel", "updateToken", "startToken", "none"].map {
      read.body["members"]?[$0]?.int64
    }
  }
}
