internal import Clocks
internal import FieldTrips
internal import TripStore

extension Owner {
  /// Works off the logs of all partitions, each in order, until drained or cancelled.
  func followLogs() async {
    while !isDraining, !Task.isCancelled {
      do throws(StoreError) {
        let found = try await watcher.next()
        await withDiscardingTaskGroup { group in
          for (partition, items) in found {
            group.addTask { await self.workOff(items, of: partition) }
          }
        }
      } catch {
        if isDraining { return }
        log.warning("the logs cannot be read; trying again", ["reason": "\(error)"])
        try? await loop.sleep(for: .milliseconds(200))
      }
    }
  }

  /// Maps a batch, commits it, and publishes what became of it.
  private func workOff(_ items: [LogItem], of partition: Partition) async {
    let ids = items.compactMap { if case .entry(let entry) = $0 { entry.trip } else { nil } }
    // A trip that cannot be read now is not gone: its triggers wait until it can be.
    while holdings[partition] != nil, (try? await load(ids)) == nil {
      guard (try? await loop.sleep(for: .milliseconds(200))) != nil else { return }
    }
    guard let holding = holdings[partition],
      let last = items.last, last.logID > holding.cursor
    else { return }
    var batch = LogBatch(now: clock.wall, rules: settings.rules)
    // What was committed before comes again after a partition was taken anew.
    for item in items where item.logID > holding.cursor {
      switch item {
      case .entry(let entry):
        if let trip = trips[entry.trip] {
          batch.take(entry, of: trip)
        } else if entry.kind.isTrigger {
          let text = "The trip \(entry.trip) is gone."
          batch.pass(entry, because: Problem(.unknownTrip, text))
        }
      case .unreadable(let id, let reason):
        log.error("a log entry cannot be read", ["entry": "\(id)", "reason": reason])
      }
    }
    await commit(&batch, from: holding.cursor, to: last.logID, owner: holding.ownership)
  }

  private func commit(
    _ batch: inout LogBatch, from: LogID, to: LogID, owner: Ownership
  ) async {
    var attempt = 0
    var isBuried = batch.dead.isEmpty
    while holdings[owner.partition]?.ownership == owner {
      do throws(StoreError) {
        if !isBuried { try await store.bury(batch.dead) }
        isBuried = true
        let commit = Commit(from: from, to: to, changes: batch.changes)
        switch try await store.commit(commit, owner: owner) {
        case .committed:
          await adopt(batch, to: to, owner: owner)
          return
        case .fenced(let current): return await fenced(owner.partition, current: current)
        case .lifeConflict(let trip, let current): batch.retake(trip, from: current)
        case .cursorConflict(let current):
          // Our memory is wrong, so none of it may be used.
          log.error(
            "a log's cursor is another than ours",
            [
              "partition": "\(owner.partition)", "from": "\(from)", "to": "\(to)",
              "current": "\(current)",
            ])
          return await reload(owner)
        }
      } catch {
        attempt += 1
        if attempt == 1 {
          log.warning("a commit failed; trying again", ["reason": "\(error)"])
        }
        guard
          (try? await loop.sleep(for: .milliseconds(min(1_000, 20 << min(attempt, 6)))))
            != nil
        else { return }
      }
    }
  }

  private func reload(_ owner: Ownership) async {
    guard let cursor = try? await store.cursor(of: owner.partition) else {
      return await drop(owner.partition)
    }
    await took(owner, cursor: cursor)
  }

  private func adopt(_ batch: LogBatch, to cursor: LogID, owner: Ownership) async {
    guard holdings[owner.partition]?.ownership == owner else { return }
    holdings[owner.partition]?.cursor = cursor
    counts.applied += batch.applied
    counts.refused += batch.dead.count
    let now = clock.now
    for draft in batch.drafts.values {
      let trip = draft.trip
      trip.card = draft.card
      if !draft.events.isEmpty { trip.adopt(draft.life) }
      if draft.revision != trip.revision {
        trip.revision = draft.revision
        trip.alert = draft.alert ?? trip.alert
        trip.publisher.changed(
          to: draft.revision, at: now, isSignificant: draft.isSignificant)
      }
      if draft.mustReload { await reloadLife(of: trip) }
      await perform(draft.actions, for: trip)
      step(trip)
    }
  }
}
