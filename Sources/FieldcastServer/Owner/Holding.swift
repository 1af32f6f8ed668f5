internal import Clocks
internal import FieldTrips
internal import TripStore

/// A partition in our hands, with those of its trips that are in memory.
///
/// When the partition goes to another node this object ends and never comes back: a new take-over
/// makes a new one. So whoever waited in between sees by ``isOurs`` that nothing it knew holds.
///
/// `@unchecked Sendable` is right because only the owner touches its state, on the owner's loop.
final class Holding: @unchecked Sendable {
  let ownership: Ownership
  /// The last log entry that is committed.
  var cursor: LogID
  /// Log entries behind the cursor that are here and not worked off yet, in order.
  private(set) var inbox: [LogItem] = []
  /// Of so many of its first entries the trips were looked for.
  private var lookedFor = 0
  /// The last log entry that is here or worked off.
  private(set) var readTo: LogID
  /// There may be more in the log than is here.
  var hasMore = true
  /// Something came without a gap since it was asked last.
  private var hasNews = false
  /// It stands in the owner's queue for the next round.
  var isQueued = false
  /// A batch of the log is being worked off; what comes meanwhile waits in the inbox.
  var isWorking = false
  /// When the earliest of its due items is due; nil when there is none.
  var nextDue: UnixTime?
  /// Its due items are being worked off.
  var isDoingDue = false
  private(set) var trips: [TripID: OwnedTrip] = [:]
  /// Trips that exist but cannot be in memory, and why.
  var unserved: [TripID: Problem] = [:]
  /// The entry in front of which the log was last said to stand still.
  var reportedBlocker: LogID?
  private(set) var isOurs = true

  /// What APNs has of a trip that was in memory before the partition was read anew.
  struct Outrun: Sendable {
    var revision: Revision
    let timestampSeconds: Int64

    init(_ trip: OwnedTrip) {
      revision = trip.revision
      timestampSeconds = trip.publisher.lastTimestampSeconds
    }
  }

  /// Of trips that were in memory before the partition was read anew.
  private(set) var outrun: [TripID: Outrun]

  init(_ ownership: Ownership, cursor: LogID, outrun: [TripID: Outrun] = [:]) {
    self.ownership = ownership
    self.cursor = cursor
    self.outrun = outrun
    readTo = cursor
  }

  /// A record as it is to be understood: phones may have a later state and a later timestamp than
  /// the store knows of, if the store has lost its last moments. The store's state is then to be
  /// published as if it were new, since it is the one that all later ones come from.
  func understood(_ record: TripRecord) -> TripRecord {
    guard let outrun = outrun[record.id] else { return record }
    var record = record
    record.lastTimestampSeconds = max(record.lastTimestampSeconds, outrun.timestampSeconds)
    if outrun.revision > record.revision {
      let before = Revision(max(0, record.revision.number - 1))
      record.publishedRevision = min(record.publishedRevision, before)
      // Once is enough: a trip stays in memory until its state is published.
      self.outrun[record.id]?.revision = record.revision
    }
    return record
  }

  var partition: Partition { ownership.partition }

  /// So many entries may wait here; what comes behind them stays in the log.
  private static let mostWaiting = 4_096

  var isFull: Bool { inbox.count >= Self.mostWaiting }

  /// Takes entries that follow right behind `previous`.
  ///
  /// - Returns: whether they are here now; if not, the log has to be read.
  func receive(_ entries: [LogEntry], after previous: LogID) -> Bool {
    guard previous == readTo, !isFull, let last = entries.last else { return false }
    for entry in entries { inbox.append(.entry(entry)) }
    readTo = last.logID
    hasNews = true
    return true
  }

  /// Whether something came without a gap since the last call.
  func takeNews() -> Bool {
    defer { hasNews = false }
    return hasNews
  }

  /// Takes what was read from the log behind some earlier ``readTo``.
  func receive(_ items: [LogItem]) {
    guard let last = items.last?.logID, last > readTo else { return }
    inbox += items.drop { $0.logID <= readTo }
    readTo = last
  }

  /// The trips that the first entries of the inbox speak of and that are not in memory, in the
  /// order in which they come. Those entries are what ``takeItems()`` takes next.
  func missingTrips(inFirst most: Int) -> [TripID] {
    lookedFor = min(most, inbox.count)
    var missing: [TripID] = []
    var seen: Set<TripID> = []
    for case .entry(let entry) in inbox.prefix(lookedFor) where lacks(entry.trip) {
      if seen.insert(entry.trip).inserted { missing.append(entry.trip) }
    }
    return missing
  }

  /// Whether a trip is to be read before anything can be done for it.
  func lacks(_ id: TripID) -> Bool { trips[id] == nil && !waitsForOtherNode(id) }

  /// Whether a trip is of an activity type that other nodes know and this one does not. What is
  /// to be done for it must be left to them; reading it again would show nothing else.
  func waitsForOtherNode(_ id: TripID) -> Bool {
    unserved[id]?.code == .unknownActivityType
  }

  /// Why the log stands still: its next entry is a trigger of a trip that waits for another node.
  var blocker: (entry: LogID, problem: Problem)? {
    guard let first = inbox.first, isBlocked(first), case .entry(let entry) = first,
      let problem = unserved[entry.trip]
    else { return nil }
    return (entry.logID, problem)
  }

  private func isBlocked(_ item: LogItem) -> Bool {
    guard !unserved.isEmpty, case .entry(let entry) = item else { return false }
    return entry.kind.isTrigger && waitsForOtherNode(entry.trip)
  }

  /// Takes what may be worked off now: of the entries whose trips were looked for, those in front
  /// of a blocked one. What came in while the trips were read may speak of others, which are not in
  /// memory; an entry of such a one would be taken for one of a trip that is gone.
  func takeItems() -> [LogItem] {
    let count = inbox.prefix(lookedFor).firstIndex(where: isBlocked) ?? lookedFor
    lookedFor = 0
    guard inbox.count > count else {
      defer { inbox = [] }
      return inbox
    }
    defer { inbox.removeFirst(count) }
    return Array(inbox.prefix(count))
  }

  func add(_ trip: OwnedTrip) {
    trips[trip.id] = trip
    unserved[trip.id] = nil
  }

  func remove(_ trip: OwnedTrip) {
    trip.isHeld = false
    if trips[trip.id] === trip { trips[trip.id] = nil }
  }

  /// The partition is another node's, or soon will be.
  func end() {
    isOurs = false
    for trip in trips.values { trip.isHeld = false }
    trips = [:]
    unserved = [:]
    inbox = []
    hasMore = false
    nextDue = nil
  }
}
