internal import Clocks
package import FieldTrips
internal import JSON
package import Transport

/// Plays one group's whole trip through a running service: the trip is created, phones join,
/// captures come in by all three doors at the trace's own times, the trip ends, and its channel is
/// deleted. What the phones show is held against what the trace gives.
package actor GroupReplay {
  package struct Settings: Sendable {
    package var phones = 40
    /// Trace time.
    package var dismissal: Duration = .seconds(60)
    /// Real time without progress after which the replay gives up.
    package var patience: Duration = .seconds(30)
    package var name = "Field trip"
    package var notebook = "Shared notebook"

    package init() {}
  }

  /// The replay could not go on.
  package struct Failure: Error, CustomStringConvertible {
    package let description: String
  }

  package nonisolated var unownedExecutor: UnownedSerialExecutor {
    loop.serial.asUnownedSerialExecutor()
  }

  private nonisolated let loop: EventLoop
  private let trace: CaptureTrace
  private let doors: ServiceDoors
  private let phones: any PhoneWorld
  private let clock: ServiceClock
  private let settings: Settings
  private let show: @Sendable (DemoSnapshot) -> Void
  private var ledger = StalenessLedger()
  private var snapshot: DemoSnapshot
  private var begun: UnixTime
  private var ended: UnixTime?
  private var channelID = ""
  private var knownBroadcasts = 0
  private var convergedAtEnd = 0
  /// When the newest broadcast went out.
  private var shownSince: UnixTime?

  /// - Parameter show: called with a new picture several times a second, on the loop.
  package init(
    trace: CaptureTrace, doors: ServiceDoors, phones: any PhoneWorld, clock: ServiceClock,
    settings: Settings = Settings(), loop: EventLoop,
    show: @escaping @Sendable (DemoSnapshot) -> Void = { _ in }
  ) {
    self.trace = trace
    self.doors = doors
    self.phones = phones
    self.clock = clock
    self.settings = settings
    self.loop = loop
    self.show = show
    begun = clock.wall
    let card = LockScreenCard(
      phone: "phone 1", clock: "", title: settings.name, notebook: settings.notebook,
      state: .waiting, notesCaptured: 0)
    snapshot = DemoSnapshot(traceName: trace.name, traceKind: trace.kind.words, card: card)
    snapshot.speed = clock.speed
    snapshot.durationSeconds = trace.durationSeconds
    snapshot.capturesInTrace = trace.captures.count
  }

  /// Plays the trip to its end.
  ///
  /// - Throws: when a door refuses, or nothing moves for ``Settings/patience``.
  package func run() async throws -> DemoSummary {
    begun = clock.wall
    let trip = try await gather()
    try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask { try await self.watch() }
      defer { group.cancelAll() }
      try await play(on: trip)
      try await until("the phones to show the last capture") { $0.isUpToDate }
      try await finish(trip)
    }
    return try await summary()
  }

  // MARK: The trip

  private func gather() async throws -> String {
    // Left alone, a trip ends when its first card would die: after eight hours.
    let end = clock.wall + .seconds(Int64(trace.durationSeconds) + 3 * 3_600)
    let created = try await doors.createTrip(
      .object([
        "endsAt": .string(DateText.format(end)),
        "name": .string(settings.name), "notebook": .string(settings.notebook),
        "dismissal": .number(JSONNumber(settings.dismissal.components.seconds)),
      ]))
    note(.trip, "trip created")
    var channel = created.channelID
    for _ in 0..<100 where channel == nil {
      try await loop.sleep(for: .milliseconds(50))
      channel = try await doors.trip(created.trip)["channel"]?["id"]?.string
    }
    guard let channel else { throw Failure(description: "The trip got no channel.") }
    channelID = channel
    for number in 1...max(1, settings.phones) {
      let joined = try await doors.join(
        "member-\(number)", trip: created.trip, osVersion: "18.2")
      guard joined.channelID == channel else {
        throw Failure(description: "A member joined and was not given the trip's channel.")
      }
      try await phones.addPhones(
        1, channelID: channel, contentState: joined.contentState,
        staleDateSeconds: joined.staleDateSeconds)
    }
    snapshot.phones = settings.phones
    note(.trip, "\(settings.phones) phones joined")
    return created.trip
  }

  private func play(on trip: String) async throws {
    snapshot.phase = .live
    let start = clock.wall
    try await withThrowingTaskGroup(of: Void.self) { group in
      for (index, capture) in trace.captures.enumerated() {
        let due = start + .nanoseconds(Int64(capture.offsetSeconds * 1e9))
        try await loop.sleep(until: clock.real(at: clock.now + (due - clock.wall)))
        let door = ServiceDoors.Door.allCases[index % ServiceDoors.Door.allCases.count]
        count(door, capture)
        let note = Self.note(index, capture, of: trip)
        group.addTask { try await self.doors.capture(note, trip: trip, by: door) }
      }
      try await group.waitForAll()
    }
  }

  /// The sequence says which place is the last one, whatever order the doors deliver in.
  private static func note(
    _ index: Int, _ capture: CaptureTrace.Capture, of trip: String
  ) -> JSONValue {
    .object([
      "id": .string("capture-\(index + 1)"), "trip": .string(trip),
      "member": .string(capture.observer), "place": .string(capture.place),
      "sequence": .number(JSONNumber(Int64(index + 1))),
    ])
  }

  private func finish(_ trip: String) async throws {
    snapshot.phase = .ending
    try await doors.end(
      trip, dismissal: .number(JSONNumber(settings.dismissal.components.seconds)))
    note(.trip, "trip ended")
    try await until("the phones' cards to end") { $0.hasEnded && $0.isUpToDate }
    ended = clock.wall
    convergedAtEnd = snapshot.convergedPhones
    let patience = MonotonicClock.now() + settings.patience
    while try await phones.channelCount() > 0, MonotonicClock.now() < patience {
      try await loop.sleep(for: .milliseconds(50))
    }
    note(.trip, "channel deleted")
    snapshot.phase = .ended
    show(snapshot)
  }

  // MARK: Watching

  private func watch() async throws {
    while !Task.isCancelled {
      try await look()
      show(snapshot)
      try await loop.sleep(for: .milliseconds(50))
    }
  }

  private var isUpToDate: Bool {
    snapshot.captures == trace.captures.count && snapshot.convergedPhones == settings.phones
  }

  private var hasEnded: Bool { snapshot.card.state == .ended || snapshot.card.state == .dismissed }

  private func until(
    _ what: String, _ condition: (isolated GroupReplay) -> Bool
  ) async throws {
    let patience = MonotonicClock.now() + settings.patience
    while !condition(self) {
      guard MonotonicClock.now() < patience else {
        return note(.trip, "gave up waiting for \(what)")
      }
      try await loop.sleep(for: .milliseconds(20))
    }
  }

  private func look() async throws {
    let look = try await phones.look(at: channelID, since: knownBroadcasts)
    knownBroadcasts += look.newBroadcasts.count
    for broadcast in look.newBroadcasts { take(broadcast) }
    snapshot.broadcasts.throttled = look.throttled
    snapshot.convergedPhones = look.phonesByState.reduce(0) { sum, entry in
      isTruth(entry.key) ? sum + entry.value : sum
    }
    let now = clock.wall
    snapshot.elapsedSeconds = (now - begun).inSeconds
    snapshot.meanStalenessNotes = ledger.meanStaleness(from: begun, until: ended ?? now)
    snapshot.maxWaitSeconds = ledger.longestWait(until: ended ?? now)
    draw(look, now)
  }

  private func take(_ broadcast: ChannelLook.Broadcast) {
    guard let text = broadcast.contentState, let notes = Self.notes(in: text) else { return }
    if broadcast.priority == 10 {
      snapshot.broadcasts.priority10 += 1
    } else {
      snapshot.broadcasts.priority5 += 1
    }
    let carried = notes - ledger.notesShown
    ledger.broadcast(at: broadcast.at, notes: notes, priority: broadcast.priority)
    shownSince = broadcast.at
    let what = broadcast.isEnd ? "end, priority" : "priority"
    note(
      broadcast.isEnd ? .trip : broadcast.priority == 10 ? .broadcast : .tail,
      "\(what) \(broadcast.priority): \(notes) notes, \(max(0, carried)) new",
      at: broadcast.at)
  }

  private func draw(_ look: ChannelLook, _ now: UnixTime) {
    let seconds = now.wholeSeconds % 86_400
    let minute = seconds / 60 % 60
    snapshot.card.clock = "\(seconds / 3_600):\(minute < 10 ? "0" : "")\(minute)"
    snapshot.card.ageSeconds = shownSince.map { (now - $0).inSeconds }
    guard let text = look.contentState else { return }
    snapshot.card.notesCaptured = Self.notes(in: text) ?? 0
    snapshot.card.lastPlace = Self.parse(text)?["lastPlaceName"]?.string
    snapshot.card.state =
      look.isDismissed ? .dismissed : look.isEnded ? .ended : look.isStale ? .stale : .live
  }

  private func count(_ door: ServiceDoors.Door, _ capture: CaptureTrace.Capture) {
    switch door {
    case .rest: snapshot.doors.rest += 1
    case .publish: snapshot.doors.publish += 1
    case .stream: snapshot.doors.stream += 1
    }
    snapshot.captures += 1
    ledger.capture(at: clock.wall)
    note(.capture, "\(capture.observer) captured a note at \(capture.place)")
  }

  private func note(_ kind: DemoSnapshot.Event.Kind, _ text: String, at time: UnixTime? = nil) {
    let seconds = ((time ?? clock.wall) - begun).inSeconds
    snapshot.events.append(DemoSnapshot.Event(atSeconds: seconds, kind: kind, text: text))
    if snapshot.events.count > 20 { snapshot.events.removeFirst() }
  }

  // MARK: The truth

  /// Whether a phone that shows this shows all captures so far, and the place of the last one.
  private func isTruth(_ text: String) -> Bool {
    guard let state = Self.parse(text), state["notesCaptured"]?.int64 == Int64(snapshot.captures)
    else { return false }
    guard snapshot.captures > 0 else { return true }
    return state["lastPlaceName"]?.string == trace.captures[snapshot.captures - 1].place
  }

  private static func parse(_ text: String) -> JSONValue? {
    try? JSONValue.parse(Array(text.utf8))
  }

  private static func notes(in text: String) -> Int? {
    parse(text)?["notesCaptured"]?.int64.map(Int.init)
  }

  private func summary() async throws -> DemoSummary {
    DemoSummary(
      snapshot, convergedPhones: convergedAtEnd,
      channelsLeft: try await phones.channelCount())
  }
}
