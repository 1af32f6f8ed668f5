import Clocks
import FieldTrips
import Redis
import Testing

@testable import TripStore

@Suite struct `A member in the store` {
  private let listener = MemberRecord(reach: .channel, body: bytes(#"{"os":"18.1"}"#))
  private let holder = MemberRecord(reach: .updateToken, body: bytes(#"{"token":"t"}"#))

  private func join(
    _ name: String, _ trip: TripID, _ record: MemberRecord?, in store: TripStore,
    announce: Bool = false, limit: Int = 100
  ) async throws -> MemberOutcome {
    try await store.changeMember(
      try MemberID(name), of: trip, at: start, announce: announce, limit: limit
    ) { _ in record }
  }

  @Test func `joins, changes and leaves, and is counted by reach`() async throws {
    try await withStore { (store, _) async throws in
      let trip = try await store.liveTrip()
      #expect(try await join("ada", trip, listener, in: store) == .stored(listener))
      #expect(try await join("ada", trip, listener, in: store) == .unchanged)
      #expect(try await join("bob", trip, holder, in: store) == .stored(holder))
      #expect(
        try await store.trip(trip)?.memberCounts == [.channel: 1, .updateToken: 1])
      #expect(try await store.singleMembers(of: trip).members.map(\.id.text) == ["bob"])
      #expect(try await join("ada", trip, holder, in: store) == .stored(holder))
      #expect(try await store.trip(trip)?.memberCounts == [.updateToken: 2])
      #expect(try await join("bob", trip, listener, in: store) == .stored(listener))
      let single = try await store.singleMembers(of: trip)
      #expect(single.members.map(\.id.text) == ["ada"])
      #expect(single.members.map(\.record) == [holder])
      #expect(single.next == nil)
      #expect(try await join("ada", trip, nil, in: store) == .stored(nil))
      #expect(try await join("ada", trip, nil, in: store) == .unchanged)
      #expect(try await store.trip(trip)?.memberCounts == [.channel: 1])
      #expect(try await store.members(of: trip).members.map(\.id.text) == ["bob"])
      #expect(try await store.member(try MemberID("bob"), of: trip) == listener)
      #expect(try await store.member(try MemberID("ada"), of: trip) == nil)
    }
  }

  @Test func `is merged when several devices register at once`() async throws {
    try await withStore { (store, _) async throws in
      let trip = try await store.liveTrip()
      let member = try MemberID("ada")
      // Each adds its letter to what it finds; none may get lost.
      await withTaskGroup(of: Void.self) { group in
        for letter in UInt8(ascii: "a")...UInt8(ascii: "h") {
          group.addTask {
            do {
              _ = try await store.changeMember(member, of: trip, at: start, announce: false) {
                MemberRecord(reach: .channel, body: ($0?.body ?? []) + [letter])
              }
            } catch {
              Issue.record("\(error)")
            }
          }
        }
      }
      let record = try #require(try await store.member(member, of: trip))
      #expect(record.body.sorted() == bytes("abcdefgh"))
      #expect(try await store.trip(trip)?.memberCounts == [.channel: 1])
    }
  }

  @Test func `cannot join what is not there, over, or full`() async throws {
    try await withStore { (store, _) async throws in
      #expect(try await join("ada", randomTrip(), listener, in: store) == .unknownTrip)
      let trip = try await store.liveTrip()
      #expect(try await join("ada", trip, listener, in: store, limit: 1) == .stored(listener))
      #expect(try await join("bob", trip, listener, in: store, limit: 1) == .full(count: 1))
      #expect(try await join("ada", trip, holder, in: store, limit: 1) == .stored(holder))
      _ = try await store.append([trigger("end", trip, .end)], to: partition, at: start)
      #expect(try await join("bob", trip, listener, in: store) == .ended)
      #expect(try await join("ada", trip, listener, in: store) == .stored(listener))
      #expect(try await join("ada", trip, nil, in: store) == .stored(nil))
    }
  }

  @Test func `is announced to the owner if there is something to do`() async throws {
    try await withStore { (store, _) async throws in
      let trip = try await store.liveTrip()
      _ = try await join("ada", trip, listener, in: store)
      _ = try await join("bob", trip, holder, in: store, announce: true)
      let entries = try await store.entries()
      #expect(entries.map(\.kind) == [.created, .member])
      #expect(entries[1].id == "bob")
    }
  }

  @Test func `is on some page, among thousands`() async throws {
    try await withStore { (store, client) async throws in
      let trip = try await store.liveTrip()
      for number in 0..<1_500 {
        let record = number.isMultiple(of: 3) ? holder : listener
        _ = try await join("m\(number)", trip, record, in: store, limit: 2_000)
      }
      func all(
        _ page: (String?) async throws -> MemberPage
      ) async throws -> Set<String> {
        var found: Set<String> = []
        var cursor: String?
        repeat {
          let next = try await page(cursor)
          found.formUnion(next.members.map(\.id.text))
          cursor = next.next
        } while cursor != nil
        return found
      }
      let members = try await all { try await store.members(of: trip, after: $0, limit: 100) }
      #expect(members.count == 1_500)
      let single = try await all {
        try await store.singleMembers(of: trip, after: $0, limit: 100)
      }
      #expect(single.count == 500)
    }
  }
}
