internal import Clocks
internal import HTTP
internal import JSON
internal import Redis
internal import Transport

/// Makes the trips, lets members join, and puts a phone into each member's hand.
struct TripCrew: Sendable {
  struct Trip: Sendable {
    let id: String
    let channelID: String
  }

  let settings: LoadSettings
  let callers: [ServiceDoors]
  let simulator: SimulatorProbe
  let watch: LoadWatch
  let loop: EventLoop

  /// Creates trips, each with an open channel, in no particular order.
  func create(_ numbers: Range<Int>) async throws -> [Trip] {
    let done = Counter()
    return try await spread(numbers) { number, caller in
      let trip = try await create(number, caller)
      await watch.know(trip: number, channelID: trip.channelID)
      let count = done.next()
      if count % 50 == 0 || count == numbers.count {
        await watch.begin(
          .settingUp(what: "trips", done: numbers.lowerBound + count, of: settings.trips))
      }
      return trip
    }
  }

  private func create(_ number: Int, _ caller: ServiceDoors) async throws -> Trip {
    // Far enough away that no trip ends by itself while it is measured.
    let created = try await caller.createTrip([
      "name": .string("Load \(number + 1)"), "notebook": "Load", "dismissal": 0,
    ])
    var channel = created.channelID
    for _ in 0..<200 where channel == nil {
      try await loop.sleep(for: .milliseconds(50))
      channel = try await caller.trip(created.trip)["channel"]?["id"]?.string
    }
    guard let channel else {
      throw LoadFailure(
        "Trip \(number + 1) got no channel: is the app's limit of channels reached?")
    }
    return Trip(id: created.trip, channelID: channel)
  }

  /// Lets the members of trips join one by one, and then starts their phones' cards with what the
  /// last of them was told.
  func join(_ trips: [Trip], from first: Int) async throws {
    let members = settings.phonesPerTrip
    guard members > 0 else { return }
    // A large trip is shared among the callers.
    let share = max(1, min(members, 500))
    let parts = (members + share - 1) / share
    let done = Counter()
    let all = settings.trips * members
    _ = try await spread(0..<(trips.count * parts)) { job, caller in
      let index = job / parts
      let trip = trips[index]
      let from = job % parts * share
      let until = min(members, from + share)
      var joined: ServiceDoors.Joined?
      for number in from..<until {
        joined = try await caller.join(
          CaptureNote.member(number, of: first + index), trip: trip.id, osVersion: "18.2")
      }
      guard let joined else { return }
      guard joined.channelID == trip.channelID else {
        throw LoadFailure("A member joined trip \(trip.id) and was not given its channel.")
      }
      try await simulator.addCrowd(
        until - from, channelID: trip.channelID, contentState: joined.contentState,
        staleDateSeconds: joined.staleDateSeconds)
      await watch.count(members: until - from)
      let count = done.next()
      if count % 10 == 0 {
        await watch.begin(
          .settingUp(what: "members", done: min(all, first * members + count * share), of: all))
      }
    }
  }

  func end(_ trips: [Trip]) async throws {
    _ = try await spread(0..<trips.count) { index, caller in
      try await caller.end(trips[index].id, dismissal: 0)
    }
  }

  /// Does the same for many numbers, as many at once as there are callers.
  ///
  /// - Returns: results in the order of the numbers.
  private func spread<Result: Sendable>(
    _ numbers: Range<Int>, _ body: @escaping @Sendable (Int, ServiceDoors) async throws -> Result
  ) async throws -> [Result] {
    let next = Counter(numbers.lowerBound)
    return try await withThrowingTaskGroup(of: [(Int, Result)].self) { group in
      for caller in callers.prefix(numbers.count) {
        group.addTask(executorPreference: loop.tasks) {
          var results: [(Int, Result)] = []
          while case let number = next.next() - 1, number < numbers.upperBound {
            results.append((number, try await body(number, caller)))
          }
          return results
        }
      }
      var all: [(Int, Result)] = []
      for try await part in group { all += part }
      return all.sorted { $0.0 < $1.0 }.map { $0.1 }
    }
  }
}
