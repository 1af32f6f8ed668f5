internal import Clocks
internal import FieldTrips
internal import Transport
internal import TripStore

extension Owner {
  // MARK: Reading

  /// What this node itself appended to logs.
  ///
  /// - Returns: partitions that are not ours: their owners are to be told.
  func receive(_ appended: [AppendedEntries]) -> [Partition] {
    var others: [Partition] = []
    for appended in appended {
      guard let holding = holdings[appended.partition], !isDraining else {
        others.append(appended.partition)
        continue
      }
      if holding.receive(appended.entries, after: appended.previous) {
        enqueue(holding)
      } else if let last = appended.entries.last, last.logID > holding.readTo {
        holding.hasMore = true
        readLogs()
      }
    }
    beginRound()
    return others
  }

  /// Something came into a partition's log.
  ///
  /// - Returns: whether the partition is ours.
  @discardableResult
  func heard(_ partition: Partition) -> Bool {
    guard let holding = holdings[partition], !isDraining else { return false }
    holding.hasMore = true
    readLogs()
    return true
  }

  /// Hears bells until drained.
  func listen() async {
    while let events = await bell.next() {
      for event in events {
        switch event {
        case .rang(let partition): holdings[partition]?.hasMore = true
        case .lost(let partition):
          guard let holding = holdings[partition], !isDraining else { break }
          holding.hasMore = true
          nursery.start { [self] in await compareWithStore(holding) }
        case .missed: for holding in holdings.values { holding.hasMore = true }
        }
      }
      readLogs()
    }
  }

  /// Looks into all logs now and then: nobody rings for an entry whose appender died, or got no
  /// answer. A gap before what this node appended itself shows at once, so busy logs can wait.
  func lookRegularly() async {
    var looks = 0
    while (try? await loop.sleep(for: settings.lookEvery)) != nil {
      noticeClockStep()
      for holding in holdings.values where !holding.takeNews() { holding.hasMore = true }
      readLogs()
      looks += 1
      if looks % 60 == 0 {
        for holding in holdings.values { reportIfBlocked(holding, again: true) }
      }
    }
  }

  /// Nothing of a blocked partition is lost, but nothing of it is published either: somebody has
  /// to do something, so this is said when it begins and once a minute.
  private func reportIfBlocked(_ holding: Holding, again: Bool = false) {
    guard let blocker = holding.blocker, again || holding.reportedBlocker != blocker.entry else {
      return
    }
    holding.reportedBlocker = blocker.entry
    log.error(
      "a partition's log stands still: the next trigger's trip cannot be served by this node",
      [
        "partition": "\(holding.partition)", "entry": "\(blocker.entry)",
        "reason": blocker.problem.message,
      ])
  }

  /// Reads the logs in which there may be more, unless that is under way.
  func readLogs() {
    guard !isReading, !isDraining else { return }
    isReading = true
    nursery.start { [self] in await readUntilNoMore() }
  }

  private func readUntilNoMore() async {
    var retry = Retry()
    while !isDraining {
      let wanting = holdings.values.filter { $0.hasMore && !$0.isFull }
        .sorted { $0.partition < $1.partition }
      if wanting.isEmpty { break }
      for holding in wanting { holding.hasMore = false }
      let limit = 1_000
      let answers = await store.readLogs(
        wanting.map { ($0.partition, after: $0.readTo) }, limit: limit)
      var problem: StoreError?
      for (holding, answer) in zip(wanting, answers) where holding.isOurs {
        switch answer {
        case .success(let items):
          holding.receive(items)
          if items.count == limit { holding.hasMore = true }
          if !items.isEmpty { enqueue(holding) }
        case .failure(let error):
          holding.hasMore = true
          problem = error
        }
      }
      beginRound()
      guard let problem else { continue }
      if retry.isFirst {
        log.warning("the logs cannot be read; trying again", ["reason": "\(problem)"])
      }
      guard (try? await retry.pause(on: loop)) != nil else { break }
    }
    isReading = false
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
    if holding.isQueued || holding.isWorking { return }
    guard holding.blocker == nil else { return reportIfBlocked(holding) }
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
    let began = MonotonicClock.now()
    let outcomes = await commitTogether(&batches)
    if !batches.isEmpty { times.record(MonotonicClock.now() - began, in: .commit) }
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
    while holding.isOurs {
      let missing = holding.missingTrips(inFirst: Self.mostInBatch)
      if (try? await load(missing, of: holding)) != nil { break }
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
    let items = holding.takeItems()
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
    reportIfBlocked(holding)
    if !holding.inbox.isEmpty {
      enqueue(holding)
      beginRound()
    }
    if holding.hasMore { readLogs() }
  }
}
