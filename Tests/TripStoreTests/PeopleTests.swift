import Clocks
import FieldTrips
import Redis
import Testing

@testable import TripStore

@Suite struct `A person in the store` {
  private let person: PersonID

  init() throws { person = .member(try MemberID("ada {x} lovelace")) }

  @Test func `keeps the tokens of all devices that register at once`() async throws {
    try await withStore(partitions: 16) { (store, _) async throws in
      let tokens = try (10..<18).map { try PushToken("abcdef\($0)") }
      await withTaskGroup(of: Void.self) { group in
        for token in tokens {
          group.addTask {
            do {
              _ = try await store.changePerson(person) {
                $0.register(.device, token, in: .production, osVersion: nil, at: start)
              }
            } catch {
              Issue.record("\(error)")
            }
          }
        }
      }
      let known = try await store.people([person, .device(digest: "ab")]).map { try $0.get() }
      #expect(Set(known[0].tokens.tokens.map(\.token)) == Set(tokens))
      #expect(known[1] == Person())
    }
  }

  /// Two nodes, each with hundreds of calls that change one person at the same moment.
  @Test func `bears a thousand changes at once`() async throws {
    try await withStore(partitions: 16) { (store, client) async throws in
      let other = TripStore(redis: client, partitionCount: 16)
      let times = (0..<1_000).map { start + .seconds(Int64($0)) }
      let tokens = try (10..<30).map { try PushToken("abcdef\($0)") }
      let trip = try await store.liveTrip()
      let member = try MemberID("ada")
      let failures = await withTaskGroup(of: Bool.self) { group in
        for (index, time) in times.enumerated() {
          let node = index % 2 == 0 ? store : other
          group.addTask {
            do {
              try await node.changePerson(person) {
                $0.register(
                  .device, tokens[index % 20], in: .production, osVersion: nil, at: time)
              }
              // Each node its own letter: what another wrote as well counts as written.
              _ = try await node.changeMember(member, of: trip, at: start, announce: false) {
                MemberRecord(reach: .none, body: ($0?.body ?? []) + [UInt8(index % 2)])
              }
              return false
            } catch {
              return true
            }
          }
        }
        return await group.reduce(0) { $0 + ($1 ? 1 : 0) }
      }
      #expect(failures == 0)
      let known = try await store.people([person])[0].get()
      #expect(known.tokens.tokens.count == 20)
      let lastSeen = Set(known.tokens.tokens.map(\.lastSeen))
      #expect(lastSeen == Set(times.suffix(20)))
      #expect(try await store.member(member, of: trip)?.body.count == times.count)
    }
  }

  @Test func `is forgotten when nobody named it for long`() async throws {
    try await withStore(partitions: 16) { (store, client) async throws in
      let token = try PushToken("abcdef01")
      var people: [PersonID] = []
      for number in 0..<40 {
        let other = PersonID.member(try MemberID("member-\(number)"))
        people.append(other)
        let time = start + .seconds(86_400 * number)
        _ = try await store.changePerson(other) {
          if number % 2 == 0 { return $0.joined(randomTrip(), at: time) }
          $0.register(.device, token, in: .production, osVersion: nil, at: time)
        }
      }
      // Named again, by the way that changes nothing else.
      _ = try await store.changePerson(people[1]) {
        $0.register(
          .device, token, in: .production, osVersion: nil, at: start + .seconds(86_400 * 30))
      }
      let count = try await store.forgetPeople(unseenSince: Person.day(of: start) + 25)
      #expect(count == 24)
      let left = await store.people(people).map { try? $0.get() }
      for (number, person) in left.enumerated() {
        #expect((person == Person()) == (number < 25 && number != 1), "\(number)")
      }
      #expect(try await store.forgetPeople(unseenSince: Person.day(of: start) + 25) == 0)
      // A token that was not named again goes, though its person was.
      let fresh = try PushToken("abcdef02")
      _ = try await store.changePerson(people[1]) {
        $0.register(
          .device, fresh, in: .production, osVersion: nil, at: start + .seconds(86_400 * 60))
      }
      _ = try await store.forgetPeople(unseenSince: Person.day(of: start) + 45)
      // A record that says no day, but has a token that is young enough, stays.
      let undated = PersonID.member(try MemberID("undated"))
      let named = (start + .seconds(86_400 * 60)).milliseconds
      let text =
        #"{"tokens":[{"kind":"device","token":"abcdef03","environment":"production","#
        + #""first":\#(named),"last":\#(named)}]}"#
      let keys = store.keys(Partition(ofName: undated.field, count: 16))
      _ = try await client.call(RedisCommand("HSET", keys.people, undated.field, text))
      _ = try await store.forgetPeople(unseenSince: Person.day(of: start) + 45)
      #expect(try await store.people([undated]).first?.get().tokens.tokens.count == 1)
      let person = try #require(try await store.people([people[1]]).first?.get())
      #expect(person.tokens.tokens.map(\.token) == [fresh])
    }
  }

  @Test func `is found by a card, while that may live`() async throws {
    try await withStore(partitions: 16) { (store, client) async throws in
      let owner = ActivityOwner(trip: randomTrip(), member: try MemberID("ada {x} lovelace"))
      #expect(try await store.owner(ofActivity: "card {1}") == nil)
      try await store.noteActivity("card {1}", owner)
      #expect(try await store.owner(ofActivity: "card {1}") == owner)
      let key = try #require(
        try await client.call(RedisCommand("KEYS", "*activity*")).stringsValue().first)
      #expect(try await client.call(RedisCommand("TTL", key)).intValue() > 43_200)
    }
  }
}
