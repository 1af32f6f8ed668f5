internal import Clocks
internal import FieldTrips
internal import TripStore

extension Owner {
  // MARK: Steps of a life

  /// Takes a step in a trip's life, stores it, and does what follows from it.
  func take(_ event: TripEvent, for trip: OwnedTrip, accepted: Revision? = nil) async {
    while let owner = holdings[trip.partition]?.ownership {
      let from = trip.life
      var to = from
      let actions = to.handle(event, at: clock.wall, rules: settings.rules)
      let change = LifeChange(of: trip.id, from: from, to: to, actions: actions)
      guard to != from || !change.due.isEmpty || accepted != nil else {
        return await perform(actions, for: trip)
      }
      let answer = AnswerRecord(trip: trip.id, accepted: accepted, life: change)
      switch await record(answer, owner: owner) {
      case .recorded?:
        trip.adopt(to)
        return await perform(actions, for: trip)
      case .lifeConflict(let current)?: trip.adopt(current)
      case .fenced?, .unknownTrip?, nil: return
      }
    }
  }

  /// Stores what an answer changed, for as long as it takes.
  ///
  /// - Returns: nil when the partition was lost meanwhile.
  func record(_ answer: AnswerRecord, owner: Ownership) async -> RecordOutcome? {
    var attempt = 0
    while holdings[owner.partition]?.ownership == owner {
      do throws(StoreError) {
        let outcome = try await store.record(answer, owner: owner)
        if case .fenced(let current) = outcome { await fenced(owner.partition, current: current) }
        return outcome
      } catch {
        attempt += 1
        if attempt == 1 {
          log.warning("an answer cannot be stored; trying again", ["reason": "\(error)"])
        }
        let pause = Duration.milliseconds(min(1_000, 20 << min(attempt, 6)))
        guard (try? await loop.sleep(for: pause)) != nil else { return nil }
      }
    }
    return nil
  }

  /// Does what a trip's life asks for.
  func perform(_ actions: [TripAction], for trip: OwnedTrip) async {
    for action in actions {
      switch action {
      case .schedule(_, let at): due(trip.partition, at: at)
      case .unschedule: break
      case .openChannel: openChannel(for: trip)
      case .startMembers:
        // Members start their cards in the app; nobody has given us a token to start one remotely.
        break
      case .refresh: trip.publisher.refresh()
      case .publishEnd(on: nil):
        // Nobody listens on a channel, so there is nobody to tell.
        nursery.start { [self, id = trip.id] in await endAccepted(id) }
      case .publishEnd: endPublishing(trip)
      case .deleteChannel(let channel):
        nursery.start { [self, id = trip.id] in await deleteChannel(channel, of: id) }
      case .forget: break  // the due item does it, and comes again until it is done
      }
    }
  }

  private func endPublishing(_ trip: OwnedTrip) {
    guard case .ending(let since) = trip.life.phase else { return }
    let visible = LiveActivityLimits.longestDismissal
    trip.publisher.end(giveUpAt: clock.now + (since + visible - clock.wall))
  }

  private func endAccepted(_ id: TripID) async {
    guard let trip = trips[id] else { return }
    await take(.endAccepted, for: trip, accepted: trip.revision)
  }

  /// - Returns: whether nothing of it is left to forget.
  private func forget(_ trip: OwnedTrip) async -> Bool {
    var life = trip.life
    guard life.handle(.forgetDue, at: clock.wall, rules: settings.rules).contains(.forget) else {
      return true
    }
    guard let owner = holdings[trip.partition]?.ownership,
      let outcome = try? await store.forget(trip.id, owner: owner)
    else { return false }
    if outcome == .forgotten { forgetInMemory(trip) }
    return outcome == .forgotten
  }

  /// Another node stepped: its life is the true one.
  func reloadLife(of trip: OwnedTrip) async {
    guard let life = await store.lives(of: [trip.id]).first else { return }
    switch life {
    case .success(let current?):
      trip.adopt(current)
      await perform(current.resumed(at: clock.wall, rules: settings.rules), for: trip)
    case .success(nil): forgetInMemory(trip)
    case .failure(let error):
      log.warning("a trip's life cannot be read", ["trip": "\(trip.id)", "reason": "\(error)"])
    }
  }

  // MARK: Channels

  /// The node that created the trip asks for its channel too; whoever comes second is told so and
  /// gives its own back.
  private func openChannel(for trip: OwnedTrip) {
    guard !trip.isOpeningChannel else { return }
    trip.isOpeningChannel = true
    let id = trip.id
    let isLost = trip.publisher.stop == .channelGone
    let moment = loop.now + (isLost ? .zero : Self.patienceForChannel)
    _ = loop.schedule(at: moment) { [self] in
      assumeIsolated { owner in owner.nursery.start { await self.openMissingChannel(of: id) } }
    }
  }

  /// How long the creating node is given, in real time, before the owner asks for a channel itself.
  private static var patienceForChannel: Duration { .seconds(5) }

  private func openMissingChannel(of id: TripID) async {
    guard let trip = trips[id] else { return }
    defer { trip.isOpeningChannel = false }
    while trip.life.channel == .opening, trip.life.acceptsTriggers, !isDraining {
      await reloadLife(of: trip)
      guard trip.life.channel == .opening else { return step(trip) }
      switch await channels.open(for: id, definition: trip.definition) {
      case .opened(let channel): await take(.channelOpened(channel), for: trip)
      case .unavailable: await take(.channelUnavailable, for: trip)
      case .failed:
        guard (try? await loop.sleep(for: .seconds(2))) != nil else { return }
      }
    }
    step(trip)
  }

  private func deleteChannel(_ channel: ChannelID, of id: TripID) async {
    guard let trip = trips[id],
      await channels.delete(channel, of: trip.definition.app)
    else { return }  // due again after the time that the life's rules give
    await take(.channelDeleted(channel), for: trip)
  }

  // MARK: What is due

  /// Something of this partition is due at `time`.
  func due(_ partition: Partition, at time: UnixTime) {
    guard var holding = holdings[partition] else { return }
    if let next = holding.nextDue, next <= time { return }
    holding.nextDue = time
    holdings[partition] = holding
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

  private func doDue() {
    let now = clock.wall
    for (partition, holding) in holdings
    where !holding.isDoingDue && holding.nextDue.map({ $0 <= now }) == true {
      holdings[partition]?.isDoingDue = true
      nursery.start { [self] in await doDue(of: partition, owner: holding.ownership) }
    }
    setDueTimer()
  }

  private func doDue(of partition: Partition, owner: Ownership) async {
    defer {
      holdings[partition]?.isDoingDue = false
      setDueTimer()
    }
    do throws(StoreError) {
      // Long enough to do them, short enough to be due again soon after a crash.
      let claim = clock.scaled(.seconds(10))
      guard
        case .claimed(let claims) = try await store.claimDue(
          by: clock.wall, claim: claim, owner: owner)
      else { return await drop(partition) }
      try await load(claims.map(\.item.trip))
      var done: [DueClaim] = []
      for claimed in claims where await handle(claimed.item) { done.append(claimed) }
      // What could not be done stays claimed, and is due again when the claim runs out.
      guard holdings[partition]?.ownership == owner else { return }
      try await store.finish(done, of: partition)
      // Read first, then assigned: an assignment that waits in the middle would write back the
      // whole holding as it was before, its cursor included.
      let next = try await store.nextDue([partition])[0].get()
      holdings[partition]?.nextDue = next
    } catch {
      log.warning("what is due cannot be read; trying again", ["reason": "\(error)"])
      holdings[partition]?.nextDue = clock.wall + clock.scaled(.milliseconds(500))
    }
  }

  /// - Returns: whether it is done.
  private func handle(_ item: DueItem) async -> Bool {
    guard case .trip(let kind, let id) = item, let trip = trips[id] else { return true }
    var isDone = true
    switch kind {
    case .start: await take(.startDue, for: trip)
    case .end: isDone = await requestEnd(of: trip)
    case .staleRefresh: await take(.staleRefreshDue, for: trip)
    case .channelDeletion: await take(.channelDeletionDue, for: trip)
    case .forget: isDone = await forget(trip)
    }
    step(trip)
    return isDone
  }

  /// A planned end goes through the log like one that was asked for, so that it stands behind every
  /// trigger that was taken in before it.
  private func requestEnd(of trip: OwnedTrip) async -> Bool {
    guard trip.life.acceptsTriggers, clock.wall >= trip.life.times.endsAt else {
      await take(.endDue, for: trip)
      return true
    }
    let end = Trigger(
      id: TriggerID.plannedEnd, trip: trip.id, effect: .end(Trigger.EndOfTrip()))
    let new = NewTrigger(trip: trip.id, kind: .end, id: end.id, body: end.written())
    switch try? await store.append([new], to: trip.partition, at: clock.wall).first {
    case .accepted, .duplicate, .ended, .unknownTrip: return true
    case .logFull, .revisionMismatch, nil: return false
    }
  }
}
