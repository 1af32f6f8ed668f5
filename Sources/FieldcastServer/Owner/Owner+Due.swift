internal import Clocks
internal import FieldTrips
internal import TripStore

extension Owner {
  /// Something of this partition is due at `time`.
  func due(_ holding: Holding, at time: UnixTime) {
    if let next = holding.nextDue, next <= time { return }
    guard holding.isOurs else { return }
    holding.nextDue = time
    setDueTimer()
  }

  private func setDueTimer() {
    if let dueTimer { loop.cancel(dueTimer) }
    dueTimer = nil
    let waiting = holdings.values.lazy.filter { !$0.isDoingDue }.compactMap(\.nextDue)
    guard !isDraining, let next = waiting.min() else { return }
    let moment = clock.now + (next - clock.wall)
    dueTimer = loop.schedule(at: clock.real(at: moment)) { [self] in
      assumeIsolated { $0.doDue() }
    }
  }

  /// A timer counts down to a time of the wall clock; when that is set ahead, the timer comes too
  /// late by as much, and is made anew. One that comes too early after a step back looks again.
  func noticeClockStep() {
    let lead = Duration.nanoseconds(clock.wall.nanoseconds - clock.now.nanoseconds)
    guard abs((lead - wallLead).wholeNanoseconds) > 100_000_000 else { return }
    wallLead = lead
    setDueTimer()
    for holding in holdingsInOrder {
      for id in holding.trips.keys.sorted() {
        if let trip = holding.trips[id] { step(trip) }
      }
    }
  }

  private func doDue() {
    let now = clock.wall
    for holding in holdingsInOrder
    where !holding.isDoingDue && holding.nextDue.map({ $0 <= now }) == true {
      holding.isDoingDue = true
      nursery.start { [self] in await doDue(of: holding) }
    }
    setDueTimer()
  }

  private func doDue(of holding: Holding) async {
    await doDueOnce(of: holding)
    holding.isDoingDue = false
    setDueTimer()
  }

  private func doDueOnce(of holding: Holding) async {
    // What is scheduled while this runs is noted anew, and the earliest counts.
    holding.nextDue = nil
    do throws(StoreError) {
      // Long enough to do them, short enough to be due again soon after a crash.
      let claim = clock.scaled(.seconds(10))
      let outcome = try await store.claimDue(
        by: clock.wall, claim: claim, owner: holding.ownership)
      switch outcome {
      case .fenced(let current): return await fenced(holding, current: current)
      case .claimed(let claims): try await work(off: claims, of: holding)
      }
      if let next = try await store.nextDue([holding.partition])[0].get() {
        due(holding, at: next)
      }
    } catch {
      log.warning("what is due cannot be read; trying again", ["reason": "\(error)"])
      due(holding, at: clock.wall + clock.scaled(.milliseconds(500)))
    }
  }

  private func work(off claims: [DueClaim], of holding: Holding) async throws(StoreError) {
    let ids = Set(claims.compactMap { if case .trip(_, let id) = $0.item { id } else { nil } })
      .sorted()
    try await load(ids, of: holding)
    // A trip that has yet to start rests: without this a batch of the log, committed while we wait
    // for the store, would have it out of memory, and its start would be done to nobody.
    let trips = ids.compactMap { holding.trips[$0] }
    for trip in trips { trip.tasks += 1 }
    defer {
      for trip in trips {
        trip.tasks -= 1
        restIfPossible(trip)
      }
    }
    var done: [DueClaim] = []
    for claimed in claims where holding.isOurs {
      if await handle(claimed.item, of: holding) { done.append(claimed) }
    }
    // What could not be done stays claimed, and is due again when the claim runs out.
    if holding.isOurs { try await store.finish(done, of: holding.partition) }
  }

  /// - Returns: whether it is done.
  private func handle(_ item: DueItem, of holding: Holding) async -> Bool {
    let (kind, id): (DueKind, TripID)
    switch item {
    case .push(let home, let name):
      // It takes its next time itself, once it has come further.
      notify(NotificationID(home: home, name: name), of: holding)
      return false
    case .trip(let dueKind, let trip): (kind, id) = (dueKind, trip)
    }
    // What is due of a trip that cannot be served stays due: it may be served again.
    guard let trip = holding.trips[id] else { return holding.unserved[id] == nil }
    var isDone = true
    switch kind {
    case .start: await advance(trip, by: .startDue)
    case .end: isDone = await requestEnd(of: trip)
    case .staleRefresh: await advance(trip, by: .staleRefreshDue)
    case .cards: isDone = lookAtCards(of: trip)
    case .channelDeletion: await advance(trip, by: .channelDeletionDue)
    case .forget: isDone = await forget(trip)
    }
    step(trip)
    return isDone
  }

  /// A planned end goes through the log like one that was asked for, so that it stands behind every
  /// trigger that was taken in before it.
  private func requestEnd(of trip: OwnedTrip) async -> Bool {
    guard trip.life.acceptsTriggers, clock.wall >= trip.life.times.endsAt else {
      await advance(trip, by: .endDue)
      return true
    }
    let end = Trigger(
      id: TriggerID.plannedEnd, trip: trip.id, effect: .end(Trigger.EndOfTrip()))
    let new = NewTrigger(trip: trip.id, kind: .end, id: end.id, body: end.written())
    var appended: [AppendedEntries] = []
    let outcomes = await store.append([new], at: clock.wall) { appended.append($0) }
    _ = receive(appended)
    switch outcomes[0] {
    case .success(.accepted), .success(.duplicate), .success(.ended), .success(.unknownTrip):
      return true
    case .success(.logFull), .success(.revisionMismatch), .failure: return false
    }
  }

  /// - Returns: whether nothing of it is left to forget.
  private func forget(_ trip: OwnedTrip) async -> Bool {
    var life = trip.life
    guard life.handle(.forgetDue, at: clock.wall, rules: settings.rules).contains(.forget) else {
      return true
    }
    switch try? await store.forget(trip.id, owner: trip.holding.ownership) {
    case .forgotten?:
      forgetInMemory(trip)
      return true
    case .fenced(let current)?:
      await fenced(trip.holding, current: current)
      return false
    case .notEnded?, nil: return false
    }
  }
}
