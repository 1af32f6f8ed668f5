internal import Clocks
internal import FieldTrips
internal import TripStore

/// How members get their cards by push: those who joined before the trip began or were joined by
/// someone else, whose card was lost, or whose card the system is about to end.
///
/// A start is recorded before it is sent, with the person's budget and with the member's card. If
/// the node dies between the two, that member is not started; never would one see two cards. So few
/// are recorded at a time.
extension Owner {
  /// Looks through all members, and starts the cards that may be started now.
  func startMembers(of trip: OwnedTrip) {
    trip.tasks += 1
    nursery.start { [self] in
      await passThrough(trip)
      await passed(trip)
    }
  }

  /// Something changed about these members that may let them have a card.
  func startMembers(_ members: [MemberID], of trip: OwnedTrip) {
    // Who took the partition over does not know when it has to look next: it looks at all.
    guard trip.cardsDueAt != nil else { return startMembers(of: trip) }
    trip.tasks += 1
    nursery.start { [self] in
      await passThrough(members, of: trip)
      await passed(trip)
    }
  }

  private func passed(_ trip: OwnedTrip) {
    trip.tasks -= 1
    restIfPossible(trip)
  }

  private func passThrough(_ trip: OwnedTrip) async {
    guard trip.isHeld, !isDraining, trip.life.mayPublishUpdate else { return }
    // Should this node die on the way, another one begins anew.
    guard await lookAgain(at: clock.wall + Self.passLimit, for: trip, isExact: true) else { return }
    // Who joins after this pass has a card that is younger.
    var next = clock.wall + StartRound.rules.renewalAge
    let isDone = await forEachPage(
      of: trip, complaint: "members cannot be started", onlyWhileOn: true
    ) { (cursor) throws(StoreError) in
      let page = try await store.members(of: trip.id, after: cursor, limit: 200)
      oweFirstStates(page.members, of: trip)
      next = min(next, try await start(page.members, of: trip) ?? next)
      return page.next
    }
    guard isDone else { return }
    await lookAgain(at: next, for: trip, isExact: true)
  }

  /// A token that APNs never accepted anything for came when another node had the trip, which died
  /// before it sent the state: it is to be sent, unless that is under way here.
  private func oweFirstStates(
    _ members: [(id: MemberID, record: MemberRecord)], of trip: OwnedTrip
  ) {
    let now = clock.wall
    guard trip.waves?.isRunning != true else { return }
    let unsent = members.filter { (id, record) in
      guard record.reach == .updateToken, trip.waves?.owed.contains(id) != true else {
        return false
      }
      let tokens = TripMember(stored: record.body)?.tokens.cards ?? []
      return tokens.contains { $0.acceptedIn.isEmpty && $0.mayBeVisible(at: now) }
    }
    if !unsent.isEmpty { owe(unsent.map(\.id), of: trip) }
  }

  private func passThrough(_ members: [MemberID], of trip: OwnedTrip) async {
    guard trip.isHeld, !isDraining, trip.life.mayPublishUpdate else { return }
    do throws(StoreError) {
      if let next = try await start(store.members(members, of: trip.id), of: trip) {
        await lookAgain(at: next, for: trip, isExact: false)
      }
    } catch {
      log.warning(
        "members cannot be started; trying again", ["trip": "\(trip.id)", "reason": "\(error)"])
      await lookAgain(at: clock.wall + .seconds(10), for: trip, isExact: false)
    }
  }

  /// - Returns: when one of them is to be looked at again.
  private func start(
    _ members: [(id: MemberID, record: MemberRecord)], of trip: OwnedTrip
  ) async throws(StoreError) -> UnixTime? {
    let now = clock.wall
    var waiting: [MemberID] = []
    var next: UnixTime?
    for member in members {
      switch StartRound.verdict(member.record, at: now, until: trip.life.times.endsAt) {
      case .start?: waiting.append(member.id)
      case .wait(let time, _)?: next = min(next ?? time, time)
      case .never?, nil: break
      }
    }
    for start in stride(from: 0, to: waiting.count, by: Self.startsAtATime) {
      let part = Array(waiting[start..<min(start + Self.startsAtATime, waiting.count)])
      guard trip.isHeld, !isDraining else { return next }
      next = [next, try await begin(part, of: trip)].compactMap(\.self).min()
    }
    return next
  }

  /// - Parameter waiting: members whose cards may be started now.
  /// - Returns: when one of them is to be looked at again.
  private func begin(
    _ waiting: [MemberID], of trip: OwnedTrip
  ) async throws(StoreError) -> UnixTime? {
    guard case .reserved(let state) = try await reserveForSome(.update, of: trip) else {
      return nil
    }
    let round = StartRound(
      book: book(of: trip, in: state.life), definition: trip.definition, type: trip.type,
      state: state)
    let grants = try await round.grant(waiting)
    if grants.withheld > 0 {
      counts.startsWithheld += grants.withheld
      log.info(
        "cards are not started yet: the devices' budgets of starts are spent",
        ["trip": "\(trip.id)", "members": "\(grants.withheld)"])
    }
    let again = try await send(grants.starts, round, of: trip)
    return [grants.next, again].compactMap(\.self).min()
  }

  /// What a crash may leave unstarted: these are recorded, and nobody knows of their starts.
  private static var startsAtATime: Int { 50 }

  /// - Returns: when those whom APNs refused are to be tried again.
  private func send(
    _ starts: [StartRound.Start], _ round: StartRound, of trip: OwnedTrip
  ) async throws(StoreError) -> UnixTime? {
    var left = starts
    var refused = 0
    var least = Duration.seconds(30)
    // A dead token gives way to another of the same person; there are few.
    for _ in 0..<4 where !left.isEmpty {
      let answers = await round.send(left)
      counts.starts += answers.count
      noteStorm(answers.map(\.answer))
      let outcome = try await round.settle(answers, isStorm: storm.isRaging)
      if outcome.accepted > 0 { trip.startFailures = 0 }
      refused += outcome.refused
      if !outcome.following.isEmpty { owe(outcome.following, of: trip) }
      if let defect = outcome.defect {
        log.error("APNs refuses starts", ["trip": "\(trip.id)", "reason": defect])
        least = .seconds(60)
      }
      left = outcome.again
    }
    guard refused > 0 else { return nil }
    let pause = max(least, .seconds(30 << min(trip.startFailures, 5)))
    trip.startFailures += 1
    return clock.wall + pause
  }

  /// How long a pass may take before another begins.
  static var passLimit: Duration { .seconds(60) }

  /// Remembers durably when the trip's members are to be looked through.
  ///
  /// - Parameter isExact: whether this replaces an earlier time.
  /// - Returns: false when that cannot be stored now, since the partition or the store is lost.
  @discardableResult
  func lookAgain(at time: UnixTime, for trip: OwnedTrip, isExact: Bool) async -> Bool {
    if !isExact, let known = trip.cardsDueAt, known <= time { return true }
    trip.cardsDueAt = time
    var retry = Retry()
    while trip.isHeld, !isDraining, trip.life.mayPublishUpdate {
      do throws(StoreError) {
        try await store.changeDue(
          [.schedule(.trip(.cards, trip.id), at: time)], of: trip.holding.partition)
        due(trip.holding, at: time)
        return true
      } catch {
        guard (try? await retry.pause(on: loop)) != nil else { return false }
      }
    }
    return false
  }
}
