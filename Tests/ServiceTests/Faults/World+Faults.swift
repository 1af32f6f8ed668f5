import APNsSimulator
import Clocks
import FieldcastServer
import JSON
import Testing
import Transport

extension World {
  static let budgetPerHour = 1_200.0
  static let burst = 10

  /// What a service under faults is set up with: budgets that let a card change several times a
  /// second of the machine's, so that silence means a fault, and leases that are soon over.
  static func underFaults(_ configuration: inout ServiceConfiguration) {
    configuration.policy.budgetPerHour = budgetPerHour
    configuration.policy.burst = burst
    configuration.leaseLife = .seconds(2)
  }

  /// Creates trips with phones on them.
  func createTrips(_ count: Int, by caller: TestCaller) async throws -> [TestCaller.Trip] {
    var trips: [TestCaller.Trip] = []
    for _ in 0..<count {
      let trip = try await caller.createTrip()
      try await addPhones(5, to: trip.channelID, showing: trip.contentState)
      trips.append(trip)
    }
    return trips
  }

  /// Does something to the service while notes flow into its trips, and then holds all phones
  /// against what was acknowledged: each note counts once, no card turned back, and no broadcast
  /// broke a rule of APNs.
  ///
  /// - Parameters:
  ///   - fault: as it stands in the table; nil for none.
  ///   - inflict: is given the flow.
  /// - Returns: how often a note was not taken in when it was sent.
  @discardableResult
  func expectConvergence(
    of trips: [TestCaller.Trip], by caller: TestCaller, through fault: String? = nil,
    times: Int = 1, sourceLocation: SourceLocation = #_sourceLocation,
    while inflict: (NoteFlow) async throws -> Void
  ) async throws -> Int {
    let flow = NoteFlow(to: caller, on: loop)
    var before: [String: Int64] = [:]
    for trip in trips { before[trip.id] = try await notes(of: trip, by: caller) }
    let began = clock.wall
    async let watched = flow.watch(trips)
    try await withThrowingTaskGroup(of: Void.self) { group in
      for (index, trip) in trips.enumerated() {
        let earlier = before[trip.id] ?? 0
        group.addTask(executorPreference: loop.tasks) {
          try await flow.feed(trip, after: earlier, seed: NoteFlow.seed &+ UInt64(index))
        }
      }
      do {
        try await flow.pass(3, of: trips)
        try await inflict(flow)
        try await flow.pass(3, of: trips)
      } catch {
        flow.stop()
        throw error
      }
      flow.stop()
      try await group.waitForAll()
    }
    for revisions in try await watched {
      #expect(
        revisions == revisions.sorted(), "a revision went back", sourceLocation: sourceLocation)
    }
    let acknowledged = flow.acknowledged
    var (lost, doubled) = (0, 0)
    var silence = Duration.zero
    for trip in trips {
      let expected = acknowledged[trip.id, default: 0] + before[trip.id, default: 0]
      let shown = try await shownNotes(on: trip.channelID, awaiting: expected)
      lost += Int(max(0, expected - shown))
      doubled += Int(max(0, shown - expected))
      let stored = try await notes(of: trip, by: caller)
      #expect(stored == expected, sourceLocation: sourceLocation)
      let ledger = try #require(await ledger(of: trip.channelID))
      expectOrder(in: ledger, sourceLocation: sourceLocation)
      #expect(ledger.complaints == 0, sourceLocation: sourceLocation)
      #expect(!exceedsBudget(ledger), "too many broadcasts", sourceLocation: sourceLocation)
      silence = max(silence, longestSilence(in: ledger, from: began))
    }
    #expect(lost == 0, "acknowledged notes are on no card", sourceLocation: sourceLocation)
    #expect(doubled == 0, "notes were counted twice", sourceLocation: sourceLocation)
    if let fault {
      FaultTable.add(
        FaultRow(
          fault: fault, times: times, silence: silence,
          notes: Int(acknowledged.values.reduce(0, +)), lost: lost, doubled: doubled))
    }
    return flow.refusals
  }

  private func notes(of trip: TestCaller.Trip, by caller: TestCaller) async throws -> Int64 {
    let read = try await caller.call("GET", "/v1/trips/\(trip.id)")
    return try #require(read.body["contentState"]?["notesCaptured"]?.int64, "\(read.text)")
  }

  /// What all phones of a channel show, if need be after waiting for it.
  private func shownNotes(on channelID: String, awaiting expected: Int64) async throws -> Int64 {
    let bundleID = bundleID
    let shown = Lock<Int64>(-1)
    _ = await simulator.wait(upTo: .seconds(60)) { apns, now in
      guard let all = try? apns.convergence(bundleID, channelID, now: now), all.hasConverged,
        let text = all.newestContentState, let state = try? JSONValue.parse(Array(text.utf8)),
        let notes = state["notesCaptured"]?.int64
      else { return false }
      shown.withLock { $0 = notes }
      return notes == expected
    }
    return shown.withLock { $0 }
  }

  /// Whether more was sent at priority 10 than the channel's bucket can have held. None of these
  /// notes is significant, so nothing was borrowed.
  private func exceedsBudget(_ ledger: BroadcastLedger) -> Bool {
    let times = ledger.recent.filter { $0.priority == 10 }.map(\.acceptedAt).sorted()
    guard let first = times.first, let last = times.last else { return false }
    // One more, since what takes its time to arrive was paid earlier.
    let most = Double(Self.burst + 1) + (last - first).inSeconds * Self.budgetPerHour / 3_600
    return Double(times.count) > most
  }

  /// Real time.
  private func longestSilence(in ledger: BroadcastLedger, from began: UnixTime) -> Duration {
    var last = began
    var longest = Duration.zero
    for push in ledger.recent where push.acceptedAt > began {
      longest = max(longest, push.acceptedAt - last)
      last = push.acceptedAt
    }
    return longest / Self.faultSpeed
  }
}
