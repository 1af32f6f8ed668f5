package import Clocks
package import FieldTrips
internal import JSON
package import Transport

/// Plays a trip through a running service: its notes come in by all three doors at the trip's own
/// times, and what APNs accepts is written down. Nothing here believes the service's own word.
package actor ServiceReplay {
  package struct Settings: Sendable {
    /// The trip's activity type; one that counts notes in `notesCaptured`.
    package var type: String
    package var name: String
    /// Real time without an answer, a channel or an end after which the replay gives up.
    package var patience: Duration = .seconds(60)

    package init(type: String, name: String) {
      self.type = type
      self.name = name
    }
  }

  /// What happened, on the service's clock.
  package struct Record: Sendable {
    /// When the notes began to come in.
    package var start: UnixTime
    /// When each note was handed to a door, in order.
    package var handedIn: [UnixTime] = []
    /// Everything that APNs accepted, the end too.
    package var broadcasts: [ChannelLook.Broadcast] = []
    package var throttled = 0
    /// Whether the phone showed the last state when the trip had ended.
    package var isConverged = false
  }

  /// The replay could not go on.
  package struct Failure: Error, CustomStringConvertible {
    package let description: String
  }

  package nonisolated var unownedExecutor: UnownedSerialExecutor {
    loop.serial.asUnownedSerialExecutor()
  }

  private nonisolated let loop: EventLoop
  private let trip: ReplayTrip
  private let doors: ServiceDoors
  private let phones: any PhoneWorld
  private let clock: ServiceClock
  private let settings: Settings
  private var record: Record
  private var channelID = ""

  package init(
    _ trip: ReplayTrip, doors: ServiceDoors, phones: any PhoneWorld, clock: ServiceClock,
    settings: Settings, loop: EventLoop
  ) {
    self.trip = trip
    self.doors = doors
    self.phones = phones
    self.clock = clock
    self.settings = settings
    self.loop = loop
    record = Record(start: clock.wall)
  }

  /// Plays the trip to its end.
  ///
  /// - Throws: when a door refuses, or the service shows no life for ``Settings/patience``.
  package func run() async throws -> Record {
    let id = try await open()
    try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask { try await self.watch() }
      defer { group.cancelAll() }
      try await play(on: id)
      try await until("the end to be accepted") {
        $0.record.isConverged && $0.record.broadcasts.contains(where: \.isEnd)
      }
    }
    return record
  }

  private func open() async throws -> String {
    let end = clock.wall + .seconds(trip.end + 12 * 3_600)
    let created = try await doors.createTrip(
      .object([
        "type": .string(settings.type), "endsAt": .string(DateText.format(end)),
        "name": .string(settings.name), "notebook": "Shared notebook",
      ]))
    var channel = created.channelID
    let patience = MonotonicClock.now() + settings.patience
    while channel == nil, MonotonicClock.now() < patience {
      try await loop.sleep(for: .milliseconds(50))
      channel = try await doors.trip(created.trip)["channel"]?["id"]?.string
    }
    guard let channel else { throw Failure(description: "\(settings.name) got no channel.") }
    channelID = channel
    let joined = try await doors.join("member-1", trip: created.trip, osVersion: "18.2")
    try await phones.addPhones(
      1, channelID: channel, contentState: joined.contentState,
      staleDateSeconds: joined.staleDateSeconds)
    return created.trip
  }

  // MARK: The trip

  private func play(on id: String) async throws {
    // The next whole second but four: the trip's first state is out by then.
    record.start = UnixTime(wholeSeconds: clock.wall.wholeSeconds + 5)
    try await withThrowingTaskGroup(of: Void.self) { group in
      for (index, second) in trip.changes.enumerated() {
        try await sleep(until: record.start + .seconds(second))
        let door = ServiceDoors.Door.allCases[index % ServiceDoors.Door.allCases.count]
        let note: JSONValue = .object([
          "id": .string("note-\(index + 1)"), "trip": .string(id),
          "sequence": .number(JSONNumber(Int64(index + 1))),
        ])
        record.handedIn.append(clock.wall)
        group.addTask { try await self.doors.capture(note, trip: id, by: door) }
      }
      try await group.waitForAll()
    }
    try await sleep(until: record.start + .seconds(trip.end))
    try await doors.end(id, dismissal: .number(JSONNumber(60)))
  }

  private func sleep(until date: UnixTime) async throws {
    try await loop.sleep(until: clock.real(at: clock.now + (date - clock.wall)))
  }

  // MARK: Watching

  private func watch() async throws {
    while !Task.isCancelled {
      let look = try await phones.look(at: channelID, since: record.broadcasts.count)
      record.broadcasts += look.newBroadcasts
      record.throttled = look.throttled
      let last = record.broadcasts.last?.contentState
      record.isConverged =
        last.flatMap(ServiceReplay.notes) == trip.changes.count
        && last.flatMap { look.phonesByState[$0] } == 1
      try await loop.sleep(for: .milliseconds(100))
    }
  }

  private func until(
    _ what: String, _ condition: (isolated ServiceReplay) -> Bool
  ) async throws {
    let patience = MonotonicClock.now() + settings.patience
    while !condition(self) {
      guard MonotonicClock.now() < patience else {
        throw Failure(description: "\(settings.name): gave up waiting for \(what).")
      }
      try await loop.sleep(for: .milliseconds(50))
    }
  }

  /// How many notes a content-state shows.
  static func notes(in contentState: String) -> Int? {
    (try? JSONValue.parse(Array(contentState.utf8)))?["notesCaptured"]?.int64.map(Int.init)
  }
}

extension ServiceReplay.Record {
  /// How long notes waited for APNs to accept a priority-10 broadcast, or the end, that shows them.
  package var metrics: ReplayMetrics {
    let urgent = broadcasts.filter { $0.priority == 10 }
    var shownNotes = 0
    let showings = urgent.compactMap { broadcast -> (at: UnixTime, notes: Int)? in
      guard let notes = broadcast.contentState.flatMap(ServiceReplay.notes), notes > shownNotes
      else { return nil }
      shownNotes = notes
      return (broadcast.at, notes)
    }
    let end = urgent.last?.at ?? handedIn.last ?? start
    var next = 0
    let shown = handedIn.indices.map { index in
      while next < showings.count, showings[next].notes <= index { next += 1 }
      return seconds(next < showings.count ? showings[next].at : end)
    }
    return ReplayMetrics(
      changes: changes, shown: shown, broadcasts: budgeted.count, end: seconds(end))
  }

  /// Seconds from the start at which notes were handed in.
  package var changes: [Double] { handedIn.map(seconds) }

  /// Seconds from the start at which APNs accepted priority-10 broadcasts; the end is on no budget.
  package var budgeted: [Double] {
    broadcasts.filter { $0.priority == 10 && !$0.isEnd }.map { seconds($0.at) }
  }

  /// Waits in seconds of the notes with these numbers, from 1.
  package func waits(ofNotes numbers: [Int]) -> [Double] {
    let urgent = broadcasts.filter { $0.priority == 10 }.map {
      (at: $0.at, notes: $0.contentState.flatMap(ServiceReplay.notes) ?? 0)
    }
    return numbers.compactMap { number in
      guard let carrier = urgent.first(where: { $0.notes >= number }) else { return nil }
      return max(0, (carrier.at - handedIn[number - 1]).inSeconds)
    }
  }

  private func seconds(_ time: UnixTime) -> Double { (time - start).inSeconds }
}
