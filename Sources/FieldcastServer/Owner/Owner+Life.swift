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
        adopt(to, in: trip)
        return await perform(actions, for: trip)
      case .lifeConflict(let current)?: trip.life = current
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
      case .forget: nursery.start { [self, id = trip.id] in await forget(id) }
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

  private func forget(_ id: TripID) async {
    guard let trip = trips[id], let owner = holdings[trip.partition]?.ownership else { return }
    // When Redis does not answer, the due item comes again by itself.
    guard let outcome = try? await store.forget(id, owner: owner) else { return }
    if outcome == .forgotten { forgetInMemory(trip) }
  }

  /// Another node stepped: its life is the true one.
  func reloadLife(of trip: OwnedTrip) async {
    guard let life = await store.lives(of: [trip.id]).first else { return }
    switch life {
    case .success(let current?):
      adopt(current, in: trip)
      await perform(current.resumed(at: clock.wall, rules: settings.rules), for: trip)
    case .success(nil): forgetInMemory(trip)
    case .failure(let error):
      log.warning("a trip's life cannot be read", ["trip": "\(trip.id)", "reason": "\(error)"])
    }
  }

  private func adopt(_ life: TripLife, in trip: OwnedTrip) {
    let channel = trip.life.channel.openID
    trip.life = life
    if life.channel.openID != nil, life.channel.openID != channel {
      trip.publisher.channelReplaced()
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
      await load(claims.map(\.item.trip))
      for claimed in claims { await handle(claimed.item) }
      try await store.finish(claims, of: partition)
      // Read first, then assigned: an assignment that waits in the middle would write back the
      // whole holding as it was before, its cursor included.
      let next = try await store.nextDue([partition])[0].get()
      holdings[partition]?.nextDue = next
    } catch {
      log.warning("what is due cannot be read; trying again", ["reason": "\(error)"])
      holdings[partition]?.nextDue = clock.wall + clock.scaled(.milliseconds(500))
    }
  }

  private func handle(_ item: DueItem) async {
    guard case .trip(let kind, let id) = item, let trip = trips[id] else { return }
    switch kind {
    case .start: await take(.startDue, for: trip)
    case .end: await requestEnd(of: trip)
    case .staleRefresh: await take(.staleRefreshDue, for: trip)
    case .channelDeletion: await take(.channelDeletionDue, for: trip)
    case .forget: await take(.forgetDue, for: trip)
    }
    step(trip)
  }

  /// A planned end goes through the log like one that was asked for, so that it stands behind every
  /// trigger that was taken in before it.
  private func requestEnd(of trip: OwnedTrip) async {
    guard trip.life.acceptsTriggers, clock.wall >= trip.life.times.endsAt else {
      return await take(.endDue, for: trip)
    }
    let end = Trigger(
      id: TriggerID.plannedEnd, trip: trip.id, effect: .end(Trigger.EndOfTrip()))
    let new = NewTrigger(trip: trip.id, kind: .end, id: end.id, body: end.written())
    // When Redis does not answer, the claim runs out and the end is due again.
    _ = try? await store.append([new], to: trip.partition, at: clock.wall)
  }
}
