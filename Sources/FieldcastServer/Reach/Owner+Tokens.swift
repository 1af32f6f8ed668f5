internal import Clocks
internal import FieldTrips
internal import TripStore

/// How a trip's state reaches those of its members who have update tokens.
///
/// A state goes to them after each broadcast, with its timestamp and priority, so a token is sent
/// to as seldom as the channel. The channel waits for none of it; only the record that a state is
/// published does, so that whoever owns the trip next sends it again if this node dies meanwhile.
extension Owner {
  /// Sends a state to all members with tokens, and waits until each was tried.
  ///
  /// - Returns: false if it has to be done again, by the next owner.
  func tell(_ update: CardUpdate, of trip: OwnedTrip) async -> Bool {
    guard let waves = trip.waves else { return true }
    waves.add(update)
    if waves.isRunning { return await waves.wait(for: update.timestampSeconds) }
    return await runWaves(waves, of: trip)
  }

  func runWaves(_ waves: TokenWaves, of trip: OwnedTrip) async -> Bool {
    waves.isRunning = true
    var isDone = true
    while isDone, let update = waves.takePending() {
      isDone = await wave(update, waves, of: trip)
      if isDone { waves.finished(update.timestampSeconds) }
    }
    if !isDone { waves.givenUp() }
    waves.isRunning = false
    payLater(waves, of: trip)
    return isDone
  }

  /// One wave over all members; who could not be sent an end is kept as owed it.
  private func wave(
    _ update: CardUpdate, _ waves: TokenWaves, of trip: OwnedTrip
  ) async -> Bool {
    waves.owed = []
    let frugalPriority = waves.frugalPriority(
      of: update, perHour: settings.policy.frugalPerHour, at: clock.now)
    let isTold = await forEachPage(
      of: trip, complaint: "a trip's tokens cannot be read", retry: Retry(longest: .seconds(2))
    ) { (cursor) throws(StoreError) in
      let page = try await store.singleMembers(of: trip.id, after: cursor)
      let letters = TokenRound.letters(to: page.members, at: clock.wall)
      try await round(update, letters, frugally: frugalPriority, waves, of: trip)
      return page.next
    }
    guard isTold else { return false }
    return update.isEnd ? await keepOwedEnds(waves, of: trip) : true
  }

  private func round(
    _ update: CardUpdate, _ letters: [TokenRound.Letter], frugally frugalPriority: Int,
    _ waves: TokenWaves, of trip: OwnedTrip
  ) async throws(StoreError) {
    guard !letters.isEmpty else { return }
    let round = TokenRound(book: book(of: trip, in: trip.life), type: trip.type)
    var letters = letters
    var bereft: [MemberID] = []
    // Twice: a token that one environment does not know is tried in the other.
    for _ in 0..<2 where !letters.isEmpty {
      let answers = await round.send(update, frugalPriority: frugalPriority, to: letters)
      let raging = noteStorm(
        answers.map { ($0.letter.environment, $0.answer) }, of: round.book.app.bundleID)
      let outcome = try await round.settle(answers, raging: raging)
      waves.owed.formUnion(outcome.owed)
      // The next state may go better; after an end there is none.
      if update.isEnd { waves.owed.formUnion(outcome.failed) }
      bereft += outcome.bereft
      counts.tokenPushes += answers.count
      report(outcome, of: trip)
      letters = outcome.moved
    }
    if !bereft.isEmpty, !update.isEnd { startMembers(bereft, of: trip) }
  }

  private func report(_ outcome: TokenRound.Outcome, of trip: OwnedTrip) {
    counts.tokensRetired += outcome.retired
    counts.tokensQuarantined += outcome.quarantined
    counts.tokensUnserved += outcome.unserved
    if outcome.unserved > 0 {
      log.error(
        "cards are not reached: no app of their tokens' environment is configured here",
        ["trip": "\(trip.id)", "tokens": "\(outcome.unserved)"])
    }
    if outcome.quarantined > 0 {
      log.error(
        "APNs does not know tokens that should be good; they are kept and not sent to. "
          + "Check the key and the environment",
        ["trip": "\(trip.id)", "tokens": "\(outcome.quarantined)"])
    }
    if let defect = outcome.defect {
      log.error("APNs refuses pushes to cards", ["trip": "\(trip.id)", "reason": defect])
    }
  }

  // MARK: Single members

  /// These members have new tokens: they are to have the newest state.
  func owe(_ members: [MemberID], of trip: OwnedTrip) {
    let waves = trip.waves ?? TokenWaves()
    trip.waves = waves
    waves.owed.formUnion(members)
    guard !waves.isRunning, !isDraining else { return }
    trip.tasks += 1
    nursery.start { [self] in await payOwedAlone(waves, of: trip) }
  }

  private func payOwedAlone(_ waves: TokenWaves, of trip: OwnedTrip) async {
    defer {
      trip.tasks -= 1
      step(trip)
      restIfPossible(trip)
    }
    guard !waves.isRunning, !waves.owed.isEmpty, !isDraining, trip.isHeld else { return }
    waves.isRunning = true
    // Should this node die on the way, another one finds by then whom nothing was sent.
    await lookAgain(at: clock.wall + Self.passLimit, for: trip)
    await payOwed(waves, of: trip)
    if !trip.life.acceptsTriggers { _ = await keepOwedEnds(waves, of: trip) }
    waves.isRunning = false
    // A state that came meanwhile.
    if waves.pending != nil {
      _ = await runWaves(waves, of: trip)
    } else {
      payLater(waves, of: trip)
    }
  }

  /// Sends the newest state, with a timestamp of its own, to those who are owed it.
  ///
  /// When thousands came at once, a state that waits does not wait for all of them: it goes to
  /// everyone.
  func payOwed(_ waves: TokenWaves, of trip: OwnedTrip) async {
    var left = Array(waves.owed)[...]
    waves.owed = []
    do throws(StoreError) {
      while !left.isEmpty, waves.pending == nil, trip.isHeld, !isDraining {
        guard try await pay(Array(left.prefix(500)), waves, of: trip) else {
          // Who was to get an update is owed the end now, or the end of a trip that is over.
          if !trip.life.acceptsTriggers { waves.owed.formUnion(left) }
          return
        }
        left = left.dropFirst(500)
      }
      waves.owed.formUnion(left)
    } catch {
      waves.owed.formUnion(left)
      log.warning(
        "members cannot be sent their state; trying again",
        ["trip": "\(trip.id)", "reason": "\(error)"])
    }
  }

  /// - Returns: false when the trip is not in a phase for it.
  private func pay(
    _ members: [MemberID], _ waves: TokenWaves, of trip: OwnedTrip
  ) async throws(StoreError) -> Bool {
    let letters = TokenRound.letters(
      to: try await store.members(members, of: trip.id), at: clock.wall)
    guard !letters.isEmpty else { return true }
    let purpose: BroadcastPurpose =
      switch trip.life.phase {
      case .scheduled, .live: .update
      case .ending: .end
      // A card that was started shortly before the end may hand over its token after it.
      case .ended: .lateEnd
      }
    let state: ReservedState
    switch try await reserveForSome(purpose, of: trip) {
    case .reserved(let reserved): state = reserved
    case .wrongPhase(let life):
      trip.adopt(life)
      return false
    case .fenced, .unknownTrip: return false
    }
    let update = CardUpdate(
      isEnd: purpose != .update, priority: 10, state: state, alert: nil, sentAt: clock.wall)
    try await round(update, letters, frugally: update.priority, waves, of: trip)
    return true
  }

  /// Who could not be sent the state now gets the newest one later, each time after a longer pause.
  private func payLater(_ waves: TokenWaves, of trip: OwnedTrip) {
    guard !waves.owed.isEmpty else {
      waves.failures = 0
      return
    }
    guard waves.timer == nil, !isDraining, trip.isHeld, trip.life.mayPublishUpdate else { return }
    let pause = Duration.seconds(15 << min(waves.failures, 4))
    waves.failures += 1
    waves.timer = loop.schedule(at: loop.now + clock.real(pause)) { [self] in
      assumeIsolated { owner in
        waves.timer = nil
        owner.owe([], of: trip)
      }
    }
  }
}

// MARK: - What goes along with a broadcast

extension Owner {
  /// Sends what a broadcast carried to the members with tokens. The channel goes on meanwhile.
  ///
  /// - Returns: whether the answer may be stored: false if members are still to be told.
  func toldByToken(
    _ sending: Sending, _ outcome: BroadcastOutcome, of trip: OwnedTrip
  ) async -> Bool {
    guard let waves = trip.waves, let state = sending.state else { return true }
    guard tellsTokens(sending, outcome, of: trip) else {
      if outcome == .accepted { waves.revisionAhead = nil }
      // What follows from an end that APNs accepted waits for the tokens all the same.
      guard sending.rank == .end, let end = waves.endSeconds, waves.isRunning else { return true }
      return await waves.wait(for: end)
    }
    if outcome != .accepted { waves.revisionAhead = state.revision }
    step(trip)
    let alert = sending.alert.flatMap { $0.isForChannelAlone ? nil : $0.text }
    let update = CardUpdate(
      isEnd: sending.rank == .end, priority: sending.rank.priority, state: state, alert: alert,
      sentAt: sending.sentAt)
    return await tell(update, of: trip)
  }

  /// Whether members with tokens are sent what a broadcast carried. The channel's troubles are not
  /// theirs: they get a new state whatever came of it there, and what is sent again for the
  /// channel's sake they have already.
  func tellsTokens(
    _ sending: Sending, _ outcome: BroadcastOutcome, of trip: OwnedTrip
  ) -> Bool {
    guard let waves = trip.waves, let state = sending.state else { return false }
    if sending.rank == .end { return waves.endSeconds == nil }
    return state.revision > waves.begunRevision
      || outcome == .accepted && state.revision != waves.revisionAhead
  }

  /// Sends the end of a trip without a channel to the members with tokens.
  ///
  /// - Returns: whether each was tried.
  func endByToken(_ trip: OwnedTrip) async -> Bool {
    guard trip.waves != nil else { return true }
    var retry = Retry()
    while trip.isHeld, !isDraining {
      do throws(StoreError) {
        let reserved = try await reserve(
          .end, for: trip, timestampSeconds: clock.wall.wholeSeconds)
        guard case .reserved(let state) = reserved else { return true }
        let update = CardUpdate(
          isEnd: true, priority: 10, state: state, alert: nil, sentAt: clock.wall)
        return await tell(update, of: trip)
      } catch {
        guard (try? await retry.pause(on: loop)) != nil else { return false }
      }
    }
    return false
  }
}
