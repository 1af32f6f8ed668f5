internal import APNs
internal import Clocks
internal import FieldTrips
internal import JSON
internal import Transport
internal import TripStore

extension Owner {
  /// A broadcast that was begun.
  struct Sending: Sendable {
    let reservation: ChannelPublisher.Reservation
    let alert: PendingAlert?
    let wait: SendRecord.Wait
    var sentAt: UnixTime
    /// What it carries, once that is read.
    var state: ReservedState?

    var rank: SendRank { reservation.rank }
  }

  // MARK: The queue

  /// Asks a trip's publisher what to do now, and does it.
  func step(_ trip: OwnedTrip) {
    cancelTimer(of: trip)
    // Without an audience there is nothing to send; a channel's arrival comes back here.
    guard !isDraining, trip.isHeld, trip.hasAudience,
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
      if trip.queuedSince == nil { trip.queuedSince = clock.now }
      lane.enqueue(trip.id, rank: rank, backlog: trip.publisher.backlog, at: clock.now)
      return serve(lane)
    case .stopped(let reason): report(reason, of: trip)
    }
    trip.queuedSince = nil
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
    let (wait, backlog) = (wait(of: trip), trip.publisher.backlog)
    trip.queuedSince = nil
    guard !isDraining, trip.hasAudience,
      let reservation = trip.publisher.beginSend(at: clock.now, wall: clock.wall)
    else {
      // It became clean meanwhile, or its time is not now.
      step(trip)
      return false
    }
    if reservation.rank != .tail, !backlog.isEmpty {
      times.record(clock.now - backlog.oldest, in: .wait)
    }
    let alert = reservation.rank == .tail ? nil : trip.alert
    if alert != nil { trip.alert = nil }
    trip.tasks += 1
    let sending = Sending(
      reservation: reservation, alert: alert, wait: wait, sentAt: clock.wall)
    nursery.start { [self] in await sendAndStep(sending, of: trip, lane) }
    // A significant change may start a second request while the first is under way.
    step(trip)
    return true
  }

  /// What a trip's changes have waited for, as far as that can be said when they go.
  private func wait(of trip: OwnedTrip) -> SendRecord.Wait {
    let now = clock.now
    var wait = SendRecord.Wait()
    var last = trip.publisher.hold(at: now, wall: clock.wall)
    if let answered = trip.answeredAt, answered > trip.publisher.backlog.oldest,
      answered > last?.until ?? .distantPast
    {
      last = (.answer, answered)
    }
    if let (hold, until) = last, until <= now {
      wait.hold = hold.rawValue
      wait.until = clock.wall - (now - until)
    }
    if let since = trip.queuedSince {
      wait.queuedMilliseconds = (now - since).wholeNanoseconds / 1_000_000
    }
    return wait
  }

  // MARK: One broadcast

  private func sendAndStep(_ sending: Sending, of trip: OwnedTrip, _ lane: AppLane) async {
    await send(sending, of: trip, lane)
    trip.tasks -= 1
    step(trip)
    restIfPossible(trip)
  }

  private func send(_ sending: Sending, of trip: OwnedTrip, _ lane: AppLane) async {
    var sending = sending
    let reservation = sending.reservation
    let answer: BroadcastAnswer
    do throws(StoreError) {
      let reserved = try await reserve(
        sending.rank == .end ? .end : .update, for: trip,
        timestampSeconds: reservation.proposedTimestampSeconds, anchor: reservation.anchor)
      switch reserved {
      case .reserved(let newest):
        trip.publisher.sent(
          reservation.id, revision: newest.revision, timestampSeconds: newest.timestampSeconds)
        if sending.alert == nil, trip.publisher.isSuperfluous(reservation.id) {
          // The store keeps the token as spent until the next reservation: that errs to the safe
          // side.
          _ = trip.publisher.answered(
            reservation.id, .superfluous, at: clock.now, using: &random)
          return
        }
        sending.state = newest
        sending.sentAt = clock.wall
        answer = await broadcast(newest, sending, of: trip, lane)
      case .fenced(let current): return await fenced(trip.holding, current: current)
      case .wrongPhase(let life):
        // The end was asked for while we waited: what was to go out goes with the end.
        trip.adopt(life)
        answer = BroadcastAnswer(outcome: .notSent(), text: "The trip is \(life.phase.name) now.")
      case .unknownTrip: return forgetInMemory(trip)
      }
    } catch {
      log.warning("a broadcast cannot be reserved", ["trip": "\(trip.id)", "reason": "\(error)"])
      answer = BroadcastAnswer(outcome: .notReserved, text: "Redis did not answer.")
    }
    if answer.outcome != .accepted, var alert = sending.alert, trip.alert == nil {
      if tellsTokens(sending, answer.outcome, of: trip) { alert.isForChannelAlone = true }
      trip.alert = alert
    }
    await answered(sending, answer, of: trip, lane)
  }

  private func broadcast(
    _ newest: ReservedState, _ sending: Sending, of trip: OwnedTrip, _ lane: AppLane
  ) async -> BroadcastAnswer {
    guard let channel = newest.life.channel.openID else {
      if trip.waves != nil {
        return BroadcastAnswer(outcome: .accepted, text: "Sent by token: there is no channel.")
      }
      return BroadcastAnswer(outcome: .notSent(), text: "The trip has no channel.")
    }
    let state: JSONText
    do { state = try JSONText(stored: newest.contentState) } catch {
      log.error("a content-state cannot be sent", ["trip": "\(trip.id)", "reason": "\(error)"])
      return BroadcastAnswer(outcome: .refused, text: "\(error)")
    }
    let order = BroadcastOrder(
      channel: channel, storage: trip.definition.storagePolicy, type: trip.type,
      isEnd: sending.rank == .end, priority: sending.rank.priority,
      timestampSeconds: newest.timestampSeconds, contentState: state, times: newest.life.times,
      alert: sending.alert?.text, sentAt: sending.sentAt)
    let began = MonotonicClock.now()
    let answer = await lane.gateway.broadcast(order, deadline: settings.policy.requestTimeout)
    times.record(MonotonicClock.now() - began, in: .broadcast)
    count(answer.outcome, sending.rank)
    if answer.outcome != .accepted {
      refusals.add(
        RecentRefusals.Refusal(
          at: clock.wall, trip: trip.id, outcome: SendRecord.name(of: answer.outcome),
          answer: answer.text))
    }
    return answer
  }

  private func answered(
    _ sending: Sending, _ answer: BroadcastAnswer, of trip: OwnedTrip, _ lane: AppLane
  ) async {
    let now = clock.now
    trip.answeredAt = now
    let aftermath = trip.publisher.answered(
      sending.reservation.id, answer.outcome, at: now, using: &random)
    var change = AnswerRecord(trip: trip.id, timeline: note(sending, answer, of: trip))
    if aftermath.isDefect {
      log.error(
        "APNs refuses a trip's broadcasts", ["trip": "\(trip.id)", "reason": answer.text])
    }
    if answer.outcome.slowsApp { lane.slowed(trip.id, at: now) }
    if case .throttled = answer.outcome {
      // Whoever owns the trip next must not begin with a full budget again.
      change.ratePerHour = aftermath.ratePerHour
      change.anchor = clock.wall - (now - trip.publisher.bucket.anchor)
    }
    guard await toldByToken(sending, answer.outcome, of: trip) else { return }
    if aftermath.isEndAccepted {
      change.accepted = sending.state?.revision ?? trip.revision
      change.shown = shown(sending, answer, isQuiet: false)
      return await advance(trip, by: .endAccepted, storing: change)
    }
    if aftermath.isChannelGone, let channel = sending.state?.life.channel.openID {
      return await lost(channel, of: trip, storing: change)
    }
    guard answer.outcome == .accepted, let revision = sending.state?.revision else {
      _ = await record(change, for: trip)
      return
    }
    // The first state is what members join with: it costs no token, so it goes at priority 5, and
    // once APNs has it nothing of the trip is unpublished.
    if sending.rank != .tail || revision == .first { change.accepted = revision }
    change.shown = shown(sending, answer, isQuiet: change.accepted == nil)
    await advance(trip, by: .updateAccepted, storing: change)
  }

  /// The broadcast as the timeline keeps it. Triggers that phones have now are no longer noted as
  /// waiting.
  private func note(
    _ sending: Sending, _ answer: BroadcastAnswer, of trip: OwnedTrip
  ) -> [UInt8] {
    let state = sending.state
    var triggers = TriggerNotes()
    if answer.outcome == .accepted, sending.rank != .tail, let revision = state?.revision {
      triggers = trip.waiting.take(upTo: revision)
    }
    let record = SendRecord(
      isEnd: sending.rank == .end, priority: sending.rank.priority, revision: state?.revision,
      timestampSeconds: state?.timestampSeconds, sentAt: sending.sentAt, answeredAt: clock.wall,
      outcome: SendRecord.name(of: answer.outcome), answer: answer.text,
      staleAt: staleAt(sending), wait: sending.wait, triggers: triggers,
      budget: SendRecord.Budget(
        level: trip.publisher.bucket.level(at: clock.now),
        ratePerHour: trip.publisher.ratePerHour))
    if let spans, !triggers.isEmpty {
      spans.add(TraceSpans.make(of: record, trip: trip.id, using: &random))
    }
    return record.stored()
  }

  private func staleAt(_ sending: Sending) -> UnixTime? {
    sending.rank == .end ? nil : sending.state?.life.times.staleDate(sentAt: sending.sentAt)
  }

  /// What phones show by an answer; nil if they show nothing new.
  private func shown(
    _ sending: Sending, _ answer: BroadcastAnswer, isQuiet: Bool
  ) -> ShownCard? {
    guard answer.outcome == .accepted, let state = sending.state else { return nil }
    return ShownCard(
      revision: state.revision, isQuiet: isQuiet, acceptedAt: clock.wall,
      staleAt: staleAt(sending), contentState: state.contentState)
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
