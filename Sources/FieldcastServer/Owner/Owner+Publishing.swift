internal import APNs
internal import Clocks
internal import FieldTrips
internal import JSON
internal import TripStore

extension Owner {
  /// Asks a trip's publisher what to do now, and does it.
  func step(_ trip: OwnedTrip) {
    cancelTimer(of: trip)
    // Without a channel there is nothing to broadcast on; its arrival comes back here.
    guard !isDraining, trip.isHeld, trip.life.channel.openID != nil,
      let lane = lanes[trip.definition.app],
      trip.life.mayPublishUpdate || trip.life.mayPublishEnd
    else { return }
    switch trip.publisher.plan(at: clock.now, wall: clock.wall) {
    case .idle: break
    case .wake(let moment):
      trip.timer = loop.schedule(at: clock.real(at: moment)) { [self] in
        assumeIsolated { owner in
          trip.timer = nil
          owner.step(trip)
        }
      }
    case .send(let rank):
      lane.enqueue(trip.id, rank: rank, backlog: trip.publisher.backlog, at: clock.now)
      serve(lane)
    case .stopped(let reason): report(reason, of: trip)
    }
  }

  /// Sends for those whose turn it is in the app's queue.
  private func serve(_ lane: AppLane) {
    while let id = lane.next(at: clock.now) {
      guard let trip = trip(id), begin(trip, lane) else {
        lane.giveBack()
        continue
      }
    }
    guard lane.timer == nil, !isDraining, let moment = lane.nextTurn else { return }
    lane.timer = loop.schedule(at: clock.real(at: moment)) { [self] in
      assumeIsolated { owner in
        lane.timer = nil
        owner.serve(lane)
      }
    }
  }

  /// - Returns: whether a request will go out.
  private func begin(_ trip: OwnedTrip, _ lane: AppLane) -> Bool {
    guard !isDraining, trip.life.channel.openID != nil,
      let reservation = trip.publisher.beginSend(at: clock.now, wall: clock.wall)
    else {
      // It became clean meanwhile, or its time is not now.
      step(trip)
      return false
    }
    let alert = reservation.rank == .tail ? nil : trip.alert
    if alert != nil { trip.alert = nil }
    trip.tasks += 1
    nursery.start { [self] in await sendAndStep(reservation, alert: alert, of: trip, lane) }
    // A significant change may start a second request while the first is under way.
    step(trip)
    return true
  }

  private func sendAndStep(
    _ reservation: ChannelPublisher.Reservation, alert: AlertText?, of trip: OwnedTrip,
    _ lane: AppLane
  ) async {
    await send(reservation, alert: alert, of: trip, lane)
    trip.tasks -= 1
    step(trip)
    restIfPossible(trip)
  }

  private func send(
    _ reservation: ChannelPublisher.Reservation, alert: AlertText?, of trip: OwnedTrip,
    _ lane: AppLane
  ) async {
    let outcome: BroadcastOutcome
    var carried: ReservedState?
    do throws(StoreError) {
      let answer = try await store.reserve(
        reservation.rank == .end ? .end : .update, for: trip.id,
        timestampSeconds: reservation.proposedTimestampSeconds, anchor: reservation.anchor,
        owner: trip.holding.ownership)
      switch answer {
      case .reserved(let newest):
        trip.publisher.sent(
          reservation.id, revision: newest.revision, timestampSeconds: newest.timestampSeconds)
        carried = newest
        outcome = await broadcast(newest, reservation.rank, alert: alert, of: trip, lane)
      case .fenced(let current): return await fenced(trip.holding, current: current)
      case .wrongPhase(let life):
        // The end was asked for while we waited: what was to go out goes with the end.
        trip.adopt(life)
        outcome = .notSent()
      case .unknownTrip: return forgetInMemory(trip)
      }
    } catch {
      log.warning("a broadcast cannot be reserved", ["trip": "\(trip.id)", "reason": "\(error)"])
      outcome = .notReserved
    }
    if outcome != .accepted, let alert { trip.alert = trip.alert ?? alert }
    await answered(reservation, outcome, carrying: carried, of: trip, lane)
  }

  private func broadcast(
    _ newest: ReservedState, _ rank: SendRank, alert: AlertText?, of trip: OwnedTrip,
    _ lane: AppLane
  ) async -> BroadcastOutcome {
    guard let channel = newest.life.channel.openID else { return .notSent() }
    let state: JSONText
    do { state = try JSONText(stored: newest.contentState) } catch {
      log.error("a content-state cannot be sent", ["trip": "\(trip.id)", "reason": "\(error)"])
      return .refused
    }
    let order = BroadcastOrder(
      channel: channel, storage: trip.definition.storagePolicy, type: trip.type,
      isEnd: rank == .end, priority: rank.priority, timestampSeconds: newest.timestampSeconds,
      contentState: state, times: newest.life.times, alert: alert, sentAt: clock.wall)
    let outcome = await lane.gateway.broadcast(order, deadline: settings.policy.requestTimeout)
    count(outcome, rank)
    return outcome
  }

  private func answered(
    _ reservation: ChannelPublisher.Reservation, _ outcome: BroadcastOutcome,
    carrying state: ReservedState?, of trip: OwnedTrip, _ lane: AppLane
  ) async {
    let now = clock.now
    let aftermath = trip.publisher.answered(reservation.id, outcome, at: now, using: &random)
    if case .throttled = outcome {
      lane.throttled(trip.id, at: now)
      // Whoever owns the trip next must not begin with a full budget again.
      let anchor = clock.wall - (now - trip.publisher.bucket.anchor)
      let answer = AnswerRecord(
        trip: trip.id, ratePerHour: aftermath.ratePerHour, anchor: anchor)
      _ = await record(answer, for: trip)
    }
    if aftermath.isDefect {
      log.error("APNs refuses a trip's broadcasts", ["trip": "\(trip.id)"])
    }
    if aftermath.isEndAccepted {
      return await advance(trip, by: .endAccepted, accepted: state?.revision ?? trip.revision)
    }
    if aftermath.isChannelGone, let channel = state?.life.channel.openID {
      return await lost(channel, of: trip)
    }
    guard outcome == .accepted, let revision = state?.revision else { return }
    // The first state is what members join with: it costs no token, so it goes at priority 5, and
    // once APNs has it nothing of the trip is unpublished.
    let counts = reservation.rank != .tail || revision == .first
    await advance(trip, by: .updateAccepted, accepted: counts ? revision : nil)
  }

  private func lost(_ channel: FieldTrips.ChannelID, of trip: OwnedTrip) async {
    log.warning("APNs no longer knows a trip's channel", ["trip": "\(trip.id)"])
    await channels.lost(channel, of: trip.definition.app)
    await advance(trip, by: .channelLost(channel))
    // The broadcast may have gone to a channel that was replaced before its answer came.
    if let present = trip.life.channel.openID, present != channel {
      trip.publisher.channelReplaced()
    }
  }

  private func count(_ outcome: BroadcastOutcome, _ rank: SendRank) {
    switch outcome {
    case .accepted:
      if rank.priority == 10 { counts.broadcasts10 += 1 } else { counts.broadcasts5 += 1 }
    case .throttled: counts.throttled += 1
    default: counts.failed += 1
    }
  }

  private func report(_ reason: ChannelPublisher.StopReason, of trip: OwnedTrip) {
    switch reason {
    case .channelGone: break  // its replacement is under way
    case .timestampsAhead(let seconds):
      log.error(
        "a channel is stopped: its timestamps are ahead of this machine's clock",
        ["trip": "\(trip.id)", "seconds": "\(seconds)"])
    }
  }
}
