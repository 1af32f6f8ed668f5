internal import Clocks
internal import FieldTrips
internal import TripStore

extension Owner {
  /// Takes a step in a trip's life, stores it, and does what follows from it.
  ///
  /// - Parameter change: what is to be stored together with it.
  func advance(
    _ trip: OwnedTrip, by event: TripEvent, storing change: AnswerRecord? = nil
  ) async {
    var answer = change ?? AnswerRecord(trip: trip.id)
    while trip.isHeld {
      let from = trip.life
      var to = from
      let actions = to.handle(event, at: clock.wall, rules: settings.rules)
      answer.life = LifeChange(of: trip.id, from: from, to: to, actions: actions)
      if answer.isEmpty { return perform(actions, for: trip) }
      switch await record(answer, for: trip) {
      case .recorded?:
        trip.adopt(to)
        return perform(actions, for: trip)
      case .lifeConflict(let current)?: trip.adopt(current)
      case .unknownTrip?: return forgetInMemory(trip)
      case .fenced?, nil: return
      }
    }
  }

  /// Stores what an answer changed, for as long as it takes.
  ///
  /// - Returns: nil when the partition was lost meanwhile.
  func record(_ answer: AnswerRecord, for trip: OwnedTrip) async -> RecordOutcome? {
    let holding = trip.holding
    var retry = Retry()
    while holding.isOurs {
      do throws(StoreError) {
        let outcome = try await store.record(answer, owner: holding.ownership)
        if case .fenced(let current) = outcome { await fenced(holding, current: current) }
        return outcome
      } catch {
        if retry.isFirst {
          log.warning("an answer cannot be stored; trying again", ["reason": "\(error)"])
        }
        guard (try? await retry.pause(on: loop)) != nil else { return nil }
      }
    }
    return nil
  }

  /// Does what a trip's life asks for.
  func perform(_ actions: [TripAction], for trip: OwnedTrip) {
    for action in actions {
      switch action {
      case .schedule(_, let at): due(trip.holding, at: at)
      case .unschedule: break
      case .openChannel: openChannel(for: trip)
      case .startMembers: startMembers(of: trip)
      case .refresh: trip.publisher.refresh()
      case .publishEnd(on: nil):
        // Nobody listens on a channel, so only who has a token is told.
        trip.tasks += 1
        nursery.start { [self] in await endUnheard(trip) }
      case .publishEnd: endPublishing(trip)
      case .deleteChannel(let channel):
        trip.tasks += 1
        errands.start { [self] in await deleteChannel(channel, of: trip) }
      case .forget: break  // the due item does it, and comes again until it is done
      }
    }
  }

  private func endUnheard(_ trip: OwnedTrip) async {
    guard await endByToken(trip) else {
      trip.tasks -= 1
      return
    }
    await advance(
      trip, by: .endAccepted, storing: AnswerRecord(trip: trip.id, accepted: trip.revision))
    trip.tasks -= 1
    restIfPossible(trip)
  }

  private func endPublishing(_ trip: OwnedTrip) {
    guard case .ending(let since) = trip.life.phase else { return }
    let visible = LiveActivityLimits.longestDismissal
    trip.publisher.end(giveUpAt: clock.now + (since + visible - clock.wall))
  }

  // MARK: Channels

  /// The node that created the trip asks for its channel too; whoever comes second is told so and
  /// gives its own back.
  private func openChannel(for trip: OwnedTrip) {
    guard !trip.isOpeningChannel else { return }
    trip.isOpeningChannel = true
    let isLost = trip.publisher.stop == .channelGone
    let moment = loop.now + (isLost ? .zero : Self.patienceForChannel)
    _ = loop.schedule(at: moment) { [self] in
      assumeIsolated { owner in owner.errands.start { await self.openMissingChannel(of: trip) } }
    }
  }

  /// How long the creating node is given, in real time, before the owner asks for a channel itself.
  private static var patienceForChannel: Duration { .seconds(5) }

  private func openMissingChannel(of trip: OwnedTrip) async {
    defer {
      trip.isOpeningChannel = false
      restIfPossible(trip)
    }
    var retry = Retry(longest: .seconds(5))
    while trip.isHeld, !isDraining {
      await reloadLives(of: [trip])
      guard trip.isHeld, trip.life.channel == .opening, trip.life.acceptsTriggers else { break }
      switch await channels.open(for: trip.id, definition: trip.definition) {
      case .opened(let channel): await advance(trip, by: .channelOpened(channel))
      case .unavailable: await advance(trip, by: .channelUnavailable)
      case .failed:
        guard (try? await retry.pause(on: loop)) != nil else { return }
      }
    }
    step(trip)
  }

  private func deleteChannel(_ channel: ChannelID, of trip: OwnedTrip) async {
    // Due again after the time that the life's rules give, if it does not succeed.
    if await channels.delete(channel, of: trip.definition.app) {
      await advance(trip, by: .channelDeleted(channel))
    }
    trip.tasks -= 1
    restIfPossible(trip)
  }
}
