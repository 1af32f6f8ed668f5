internal import Clocks
internal import FieldTrips
internal import TripStore

/// How members get their cards by push: those who joined before the trip began or were joined by
/// someone else, whose card was lost, or whose card the system is about to end.
///
/// A start is recorded before it is sent, with the budgets and with the member's card. If the node
/// dies between the two, that member is not started; never would one see two cards. So few are
/// recorded at a time.
extension Owner {
  /// Looks through all members, and starts the cards that may be started now.
  func startMembers(of trip: OwnedTrip) {
    trip.starts.want(nil)
    passThroughWanted(of: trip)
  }

  /// Something changed about these members that may let them have a card.
  func startMembers(_ members: [MemberID], of trip: OwnedTrip) {
    // Who took the partition over does not know when it has to look next: it looks at all.
    trip.starts.want(members)
    passThroughWanted(of: trip)
  }

  private func passThroughWanted(of trip: OwnedTrip) {
    guard trip.starts.begin() else { return }
    trip.tasks += 1
    nursery.start { [self] in await workOffAgenda(of: trip) }
  }

  private func workOffAgenda(of trip: OwnedTrip) async {
    while let pass = trip.starts.next() {
      switch pass {
      case .all: await passThrough(trip)
      case .some(let members): await passThrough(members, of: trip)
      }
    }
    trip.tasks -= 1
    restIfPossible(trip)
  }

  private func passThrough(_ trip: OwnedTrip) async {
    guard trip.isHeld, !isDraining, trip.life.mayPublishUpdate else { return }
    // Should this node die on the way, another one begins anew.
    let limit = clock.wall + Self.passLimit
    trip.starts.allBegin(until: limit)
    guard await scheduleCards(of: trip, at: limit) else { return }
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
    guard isDone, trip.life.mayPublishUpdate else { return }
    await scheduleCards(of: trip, at: trip.starts.allDone(next: next))
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
        await lookAgain(at: next, for: trip)
      }
    } catch {
      log.warning(
        "members cannot be started; trying again", ["trip": "\(trip.id)", "reason": "\(error)"])
      await lookAgain(at: clock.wall + .seconds(10), for: trip)
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

  /// - Returns: when those are to be tried again whom APNs refused, or whose other devices are not to
  ///   be sent a start yet.
  private func send(
    _ starts: [StartRound.Start], _ round: StartRound, of trip: OwnedTrip
  ) async throws(StoreError) -> UnixTime? {
    var left = starts
    var refused = 0
    var withheldUntil: UnixTime?
    var defect: String?
    // A dead token gives way to another of the same person, and one of another environment may be
    // tried twice. So each round uses up a token or an environment of one.
    while !left.isEmpty {
      let answers = await round.send(left)
      counts.starts += answers.count
      let raging = noteStorm(
        answers.map { ($0.start.token.environment, $0.answer) }, of: round.book.app.bundleID)
      left = []
      for answered in answers {
        let isStorm = raging.contains(answered.start.token.environment)
        // What is known of a start must not be lost: nobody would try it again.
        let settled = try await insisting(on: trip) { () throws(StoreError) in
          try await round.settle(answered, isStorm: isStorm)
        }
        switch settled {
        case .accepted(let follows):
          trip.startFailures = 0
          if follows { owe([answered.start.member], of: trip) }
          noteStarted(answered.start, round.state, of: trip)
        case .again(let start): left.append(start)
        case .refused(let reason):
          refused += 1
          defect = reason ?? defect
        case .withheld(let time):
          counts.startsWithheld += 1
          withheldUntil = min(withheldUntil ?? time, time)
        case .nothing: break
        }
      }
    }
    guard refused > 0 else { return withheldUntil }
    let retry = retryOfStarts(of: trip, defect)
    return min(retry, withheldUntil ?? retry)
  }

  /// - Parameter defect: why APNs refuses starts by good tokens.
  private func retryOfStarts(of trip: OwnedTrip, _ defect: String?) -> UnixTime {
    if let defect {
      log.error("APNs refuses starts", ["trip": "\(trip.id)", "reason": defect])
    }
    let least = Duration.seconds(defect == nil ? 30 : 60)
    let pause = max(least, .seconds(30 << min(trip.startFailures, 5)))
    trip.startFailures += 1
    return clock.wall + pause
  }

  // MARK: What a new card may have missed

  /// A channel that keeps nothing has no newest state for a card that begins to listen, and what is
  /// broadcast before it does is lost to it.
  private func noteStarted(
    _ start: StartRound.Start, _ state: ReservedState, of trip: OwnedTrip
  ) {
    guard trip.definition.storagePolicy == .noStorage, case .onChannel = start.way else { return }
    if let oldest = trip.revisionStarted {
      trip.revisionStarted = min(oldest, state.revision)
      return
    }
    trip.revisionStarted = state.revision
    // A stop may cut it off: the next change shows on the new cards too.
    errands.start { [self] in await refreshOnceTheyListen(trip) }
  }

  private func refreshOnceTheyListen(_ trip: OwnedTrip) async {
    try? await loop.sleep(for: clock.real(Self.listeningDelay))
    let oldest = trip.revisionStarted
    trip.revisionStarted = nil
    guard let oldest, trip.isHeld, trip.life.mayPublishUpdate, trip.revision > oldest else {
      return
    }
    trip.publisher.refresh()
    step(trip)
  }

  /// By then a card listens to its channel that a push started.
  private static var listeningDelay: Duration { .seconds(20) }

  // MARK: When to look again

  /// How long a pass may take before another begins.
  static var passLimit: Duration { .seconds(60) }

  /// Looks through the trip's members at this time, if not before.
  func lookAgain(at time: UnixTime, for trip: OwnedTrip) async {
    guard trip.life.mayPublishUpdate, trip.starts.look(at: time) else { return }
    await scheduleCards(of: trip, at: time)
  }

  /// Remembers durably when the trip's cards are to be looked at.
  ///
  /// - Parameter time: nil is never again.
  /// - Returns: false when that cannot be stored now, since the partition or the store is lost.
  @discardableResult
  func scheduleCards(of trip: OwnedTrip, at time: UnixTime?) async -> Bool {
    let item = DueItem.trip(.cards, trip.id)
    let change = time.map { DueChange.schedule(item, at: $0) } ?? .cancel(item)
    do throws(StoreError) {
      try await insisting(on: trip) { () throws(StoreError) in
        try await store.changeDue([change], of: trip.holding.partition)
      }
    } catch {
      return false
    }
    if let time { due(trip.holding, at: time) }
    return true
  }

  /// The trip's cards are due to be looked at.
  ///
  /// - Returns: whether that is done. What is begun takes its next time itself, and until then its
  ///   claim stands.
  func lookAtCards(of trip: OwnedTrip) -> Bool {
    switch trip.life.phase {
    case .scheduled: return true
    case .live where trip.starts.isOverAll: putOff(trip)
    case .live: startMembers(of: trip)
    case .ending, .ended: sendOwedEnds(of: trip)
    }
    return false
  }

  /// A pass over all members takes longer than it may. Another one right behind it would try again at
  /// once what waits for a later time: this one says itself when the next is.
  private func putOff(_ trip: OwnedTrip) {
    trip.tasks += 1
    nursery.start { [self] in await putOffNextPass(of: trip) }
  }

  private func putOffNextPass(of trip: OwnedTrip) async {
    if trip.starts.isOverAll { await scheduleCards(of: trip, at: clock.wall + Self.passLimit) }
    trip.tasks -= 1
    restIfPossible(trip)
  }

  /// Does what has to be stored, for as long as the trip is ours.
  func insisting<Value>(
    on trip: OwnedTrip, _ work: () async throws(StoreError) -> Value
  ) async throws(StoreError) -> Value {
    var retry = Retry()
    while true {
      do throws(StoreError) {
        return try await work()
      } catch {
        guard trip.isHeld, (try? await retry.pause(on: loop)) != nil else { throw error }
      }
    }
  }
}
