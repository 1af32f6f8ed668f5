internal import Clocks
internal import FieldTrips
internal import TripStore

extension Owner {
  // MARK: Partitions come and go

  /// This node owns a partition from now on.
  ///
  /// - Parameter outrun: what APNs has of trips of which the store may have lost the last.
  func took(
    _ ownership: Ownership, cursor: LogID, outrun: [TripID: Holding.Outrun] = [:]
  ) async {
    let partition = ownership.partition
    await drop(partition)
    // A younger claim may have come while we waited.
    if let present = holdings[partition], present.ownership.epoch > ownership.epoch { return }
    let holding = Holding(ownership, cursor: cursor, outrun: outrun)
    holdings[partition] = holding
    await resume(holding)
    guard holding.isOurs else { return }
    await bell.listen(to: partition)
    readLogs()
  }

  /// Another node owns it now, or soon will.
  func drop(_ partition: Partition) async {
    guard let holding = holdings.removeValue(forKey: partition) else { return }
    for trip in holding.trips.values { cancelTimer(of: trip) }
    holding.end()
    await bell.forget(partition)
  }

  var ownerships: [Ownership] { holdingsInOrder.map(\.ownership) }

  /// What the store refused because another node owns the partition.
  func fenced(_ holding: Holding, current: Epoch) async {
    // Not only greater ones: a Redis that lost its last seconds may have gone back.
    guard holding.isOurs, holding.ownership.epoch != current else { return }
    log.info(
      "another node has taken over a partition",
      ["partition": "\(holding.partition)", "epoch": "\(current)"])
    await drop(holding.partition)
  }

  /// Our memory of a partition is wrong, so none of it may be used.
  func reload(_ holding: Holding) async {
    var retry = Retry()
    while holding.isOurs {
      do throws(StoreError) {
        let cursor = try await store.cursor(of: holding.partition)
        guard holding.isOurs else { return }
        let inMemory = holding.trips.mapValues(Holding.Outrun.init(_:))
        return await took(
          holding.ownership, cursor: cursor, outrun: holding.outrun.merging(inMemory) { $1 })
      } catch {
        guard (try? await retry.pause(on: loop)) != nil else { return }
      }
    }
  }

  /// Redis was away for a moment, and may be another one now that lacks the last of what it had
  /// answered. Then our memory is ahead of it, and would wait for log entries that never come.
  func compareWithStore(_ holding: Holding) async {
    var retry = Retry()
    while holding.isOurs, !isDraining {
      let (cursor, readTo) = (holding.cursor, holding.readTo)
      do throws(StoreError) {
        let place = try await store.logPlace(of: holding.partition, seeking: readTo)
        let isLost = place.cursor < cursor || place.cursor < readTo && !place.holdsEntry
        guard holding.isOurs, isLost else { return }
        log.warning(
          "Redis has lost the last of a partition, as a failover may",
          [
            "partition": "\(holding.partition)", "committed": "\(cursor)", "read": "\(readTo)",
            "found": "\(place.cursor)",
          ])
        return await reload(holding)
      } catch {
        guard (try? await retry.pause(on: loop)) != nil else { return }
      }
    }
  }

  /// Takes up what the owner before us left unfinished.
  private func resume(_ holding: Holding) async {
    do throws(StoreError) {
      try await takeUp(holding)
    } catch {
      log.warning(
        "a partition cannot be taken up; trying again",
        ["partition": "\(holding.partition)", "reason": "\(error)"])
      errands.start { [self] in await resumeLater(holding) }
    }
  }

  private func resumeLater(_ holding: Holding) async {
    var retry = Retry()
    while (try? await retry.pause(on: loop)) != nil, holding.isOurs {
      if (try? await takeUp(holding)) != nil { return }
    }
  }

  private func takeUp(_ holding: Holding) async throws(StoreError) {
    var unfinished = try await store.unpublishedTrips(of: holding.partition)
    unfinished += Set(holding.outrun.keys).subtracting(unfinished)
    try await load(unfinished, of: holding)
    for id in unfinished {
      guard let trip = holding.trips[id] else { continue }
      perform(trip.life.resumed(at: clock.wall, rules: settings.rules), for: trip)
      step(trip)
      restIfPossible(trip)
    }
    if let next = try await store.nextDue([holding.partition])[0].get() {
      due(holding, at: next)
    }
  }
}
