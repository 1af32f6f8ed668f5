internal import Clocks
internal import FieldTrips
internal import TripStore

extension Owner {
  // MARK: Reading

  /// Reads the logs of all partitions until drained or cancelled.
  func followLogs() async {
    var retry = Retry()
    while !isDraining, !Task.isCancelled {
      do throws(StoreError) {
        let found = try await watcher.next()
        for (partition, items) in found {
          if let holding = holdings[partition] { await receive(items, of: holding) }
        }
        beginRound()
        retry = Retry()
      } catch {
        if isDraining { return }
        if retry.isFirst {
          log.warning("the logs cannot be read; trying again", ["reason": "\(error)"])
        }
        try? await retry.pause(on: loop)
      }
    }
  }

  /// So many entries of a partition may wait here; what comes behind them stays in its log.
  private static var mostWaiting: Int { 4_096 }

  private func receive(_ items: [LogItem], of holding: Holding) async {
    holding.inbox += items
    if !holding.isWorking { enqueue(holding) }
    guard holding.inbox.count >= Self.mostWaiting, !holding.isReadingPaused else { return }
    holding.isReadingPaused = true
    await watcher.forget(holding.partition)
  }

  // MARK: Rounds

  /// Works off what waits in all partitions that are not at work, together: a round is one write to
  /// Redis, however many partitions take part.
  ///
  /// A partition whose part does not succeed leaves the round and goes on by itself, so that it
  /// holds up no other. While a round is under way one more may begin; what comes then gathers, so
  /// rounds grow with the load.
  func beginRound() {
    guard roundsUnderWay < 2, !isDraining else { return }
    var members: [Holding] = []
    for holding in queue {
      holding.isQueued = false
      guard holding.isOurs, !holding.isWorking else { continue }
      holding.isWorking = true
      members.append(holding)
    }
    queue.removeAll(keepingCapacity: true)
    guard !members.isEmpty else { return }
    roundsUnderWay += 1
    nursery.start { [self, members] in await round(members) }
  }

  private func enqueue(_ holding: Holding) {
    if holding.isQueued { return }
    holding.isQueued = true
    queue.append(holding)
  }

  private func round(_ members: [Holding]) async {
    await workOff(members)
    roundsUnderWay -= 1
    beginRound()
  }

  private func workOff(_ members: [Holding]) async {
    let unreadable = await loadTrips(of: members)
    var batches: [LogBatch] = []
    for holding in members {
      if unreadable.contains(holding.partition) {
        nursery.start { [self] in await workAlone(holding) }
      } else if let batch = takeBatch(of: holding) {
        batches.append(batch)
      } else {
        finish(holding)
      }
    }
    let outcomes = await commitTogether(&batches)
    for (batch, outcome) in zip(batches, outcomes) {
      if case .success(.committed) = outcome {
        adopt(batch)
        finish(batch.holding)
      } else {
        nursery.start { [self] in await settleAlone(batch, after: outcome) }
      }
    }
  }

  private func settleAlone(_ batch: LogBatch, after answer: CommitAnswer) async {
    await settle(batch, after: answer)
    finish(batch.holding)
  }

  /// Reads the trips that a round needs and that are not in memory.
  ///
  /// - Returns: the partitions of which some could not be read now.
  private func loadTrips(of members: [Holding]) async -> Set<Partition> {
    var missing: [(id: TripID, holding: Holding)] = []
    for holding in members {
      for id in holding.missingTrips(inFirst: Self.mostInBatch) { missing.append((id, holding)) }
    }
    guard !missing.isEmpty else { return [] }
    var unreadable: Set<Partition> = []
    let results = await store.trips(missing.map(\.id))
    for (place, result) in zip(missing, results) {
      if !remember(result, of: place.id, in: place.holding) {
        unreadable.insert(place.holding.partition)
      }
    }
    return unreadable
  }

  /// For a partition whose trips cannot be read now. They are not gone: their triggers wait until
  /// they can be.
  private func workAlone(_ holding: Holding) async {
    var retry = Retry()
    while holding.isOurs, (try? await load(holding.missingTrips(inFirst: Self.mostInBatch), of: holding)) == nil {
      guard !isDraining, (try? await retry.pause(on: loop)) != nil else { return holding.end() }
    }
    guard let batch = takeBatch(of: holding) else { return finish(holding) }
    var alone = [batch]
    let answer = await commitTogether(&alone)[0]
    await settle(alone[0], after: answer)
    finish(holding)
  }

  /// Maps what waits in a partition; nil when nothing does.
  private func takeBatch(of holding: Holding) -> LogBatch? {
    guard holding.isOurs, !holding.inbox.isEmpty else { return nil }
    let items = holding.takeItems(atMost: Self.mostInBatch)
    guard let last = items.last, last.logID > holding.cursor else { return nil }
    var batch = LogBatch(of: holding, to: last.logID, now: clock.wall, rules: settings.rules)
    // What was committed before comes again after a partition was taken anew.
    for item in items where item.logID > holding.cursor {
      switch item {
      case .entry(let entry): batch.add(entry)
      case .unreadable(let id, let reason):
        log.error("a log entry cannot be read", ["entry": "\(id)", "reason": reason])
      }
    }
    return batch
  }

  /// So many entries keep the script of a commit to some milliseconds, in which Redis does nothing
  /// else.
  private static var mostInBatch: Int { 1_024 }

  /// The partition takes part in rounds again.
  private func finish(_ holding: Holding) {
    holding.isWorking = false
    guard holding.isOurs else { return }
    if !holding.inbox.isEmpty {
      enqueue(holding)
      beginRound()
    } else if holding.isReadingPaused {
      holding.isReadingPaused = false
      errands.start { [self] in
        guard holding.isOurs else { return }
        await watcher.follow([(partition: holding.partition, after: holding.lastRead)])
      }
    }
  }
}
