internal import Clocks
internal import FieldTrips
internal import TripStore

extension Owner {
  typealias CommitAnswer = Result<CommitOutcome, StoreError>

  /// Commits batches of several partitions in one go; an answer for each.
  ///
  /// What cannot be applied is among the dead letters before the batch is committed, so that
  /// nothing is dropped without a trace.
  func commitTogether(_ batches: inout [LogBatch]) async -> [CommitAnswer] {
    let unburied = batches.indices.filter { !batches[$0].isBuried }
    if let error = await bury(unburied.flatMap { batches[$0].dead }) {
      return batches.map { _ in .failure(error) }
    }
    for index in unburied { batches[index].isBuried = true }
    return await store.commit(batches.map { ($0.commit, $0.holding.ownership) })
  }

  /// Brings a batch to its end that was not committed at the first try: until it is committed, or
  /// the partition is no longer ours.
  func settle(_ first: LogBatch, after answer: CommitAnswer) async {
    var batch = [first]
    var answer = answer
    let holding = first.holding
    var retry = Retry()
    while holding.isOurs {
      switch answer {
      case .success(.committed): return adopt(batch[0])
      case .success(.fenced(let current)): return await fenced(holding, current: current)
      case .success(.lifeConflict(let trip, let current)): batch[0].retake(trip, from: current)
      case .success(.cursorConflict(let current)):
        log.error(
          "a log's cursor is another than ours",
          [
            "partition": "\(holding.partition)", "ours": "\(holding.cursor)",
            "current": "\(current)",
          ])
        return await reload(holding)
      case .failure(let error):
        if retry.isFirst {
          log.warning("a commit failed; trying again", ["reason": "\(error)"])
        }
        guard !isDraining, (try? await retry.pause(on: loop)) != nil else {
          // It stays in the log, for the next owner; what lies behind it must not overtake it.
          return holding.end()
        }
      }
      answer = await commitTogether(&batch)[0]
    }
  }

  /// - Returns: why the letters are not kept yet; try again then.
  private func bury(_ letters: [DeadLetter]) async -> StoreError? {
    guard !letters.isEmpty else { return nil }
    do throws(StoreError) {
      try await store.bury(letters)
    } catch {
      if error.isTransient { return error }
      // A partition must not stand still for ever because its waste has no place.
      log.error(
        "dead letters cannot be kept", ["count": "\(letters.count)", "reason": "\(error)"])
    }
    return nil
  }

  /// A batch is committed: memory follows, and what is to be done is begun.
  func adopt(_ batch: LogBatch) {
    let holding = batch.holding
    guard holding.isOurs else { return }
    holding.cursor = batch.commit.to
    counts.applied += batch.applied
    counts.refused += batch.dead.count
    if let time = batch.pushDue { due(holding, at: time) }
    let now = clock.now
    var changedElsewhere: [OwnedTrip] = []
    for id in batch.trips {
      guard let draft = batch.drafts[id], draft.trip.isHeld else { continue }
      let trip = draft.trip
      trip.card = draft.card
      trip.waiting.add(draft.triggers)
      if !draft.events.isEmpty { trip.adopt(draft.life) }
      if draft.revision != trip.revision {
        trip.revision = draft.revision
        if let alert = draft.alert { trip.alert = PendingAlert(text: alert) }
        trip.publisher.changed(
          to: draft.revision, at: now, isSignificant: draft.isSignificant)
      }
      if draft.mustReload { changedElsewhere.append(trip) }
      if !draft.members.isEmpty {
        owe(draft.members, of: trip)
        startMembers(draft.members, of: trip)
      }
      perform(draft.actions, for: trip)
      step(trip)
      if trip.isResting, !draft.mustReload { forgetInMemory(trip) }
    }
    if !changedElsewhere.isEmpty {
      nursery.start { [self, changedElsewhere] in await reloadLives(of: changedElsewhere) }
    }
  }

  /// Other nodes took steps: what the store holds of these lives is the true one.
  func reloadLives(of trips: [OwnedTrip]) async {
    var left = trips
    var retry = Retry()
    while !left.isEmpty, !isDraining {
      left.removeAll { !$0.isHeld }
      var unread: [OwnedTrip] = []
      for (trip, life) in zip(left, await store.lives(of: left.map(\.id))) {
        switch life {
        case .success(let life): follow(trip, life)
        case .failure(let error):
          if retry.isFirst {
            log.warning(
              "a trip's life cannot be read; trying again",
              ["trip": "\(trip.id)", "reason": "\(error)"])
          }
          unread.append(trip)
        }
      }
      left = unread
      guard !left.isEmpty else { return }
      guard (try? await retry.pause(on: loop)) != nil else { return }
    }
  }

  /// - Parameter life: as another node left it; nil when it forgot the trip.
  private func follow(_ trip: OwnedTrip, _ life: TripLife?) {
    guard trip.isHeld else { return }
    guard let life else { return forgetInMemory(trip) }
    trip.adopt(life)
    perform(life.resumed(at: clock.wall, rules: settings.rules), for: trip)
    step(trip)
    restIfPossible(trip)
  }
}
