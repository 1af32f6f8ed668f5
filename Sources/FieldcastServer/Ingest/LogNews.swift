internal import Clocks
internal import FieldTrips
internal import TripStore

/// Tells the owners of partitions what came into their logs: this node's own directly, others by
/// their bells.
struct LogNews: Sendable {
  let owner: Owner
  let store: TripStore

  /// The store wrote into the log of this trip's partition, such as by creating it.
  func changed(_ trip: TripID) async {
    let partition = store.partition(of: trip)
    if await !owner.heard(partition) { await store.ring([partition]) }
  }

  /// Appends triggers, and tells who has to work them off.
  func append(
    _ triggers: [NewTrigger], at now: UnixTime
  ) async -> [Result<AppendOutcome, StoreError>] {
    var appended: [AppendedEntries] = []
    let outcomes = await store.append(triggers, at: now) { appended.append($0) }
    let others = await owner.receive(appended)
    if !others.isEmpty { await store.ring(others) }
    return outcomes
  }
}
