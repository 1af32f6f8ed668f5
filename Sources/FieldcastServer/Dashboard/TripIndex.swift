internal import Clocks
internal import FieldTrips
internal import JSON
internal import TripStore

/// The trips as a list shows them, gathered while somebody watches: a page of all trips at a time in
/// turn, and at once those that are ahead of what phones show and those that are on a screen.
///
/// However many trips there are, no more of them are read each time, but for the IDs of all that are
/// ahead; what rests is seen a turn later. What was gathered is gone through whole for the totals,
/// and for each list.
struct TripIndex {
  /// Trips of a page, and of those that are read out of turn.
  static let pageSize = 1_000
  static let mostOutOfTurn = 500

  struct Row {
    var glance: TripGlance
    /// What a search looks at.
    var text: String
    /// The last turn that found it.
    var turn: Int

    /// When something last happened to it: what a list is sorted by.
    var movedAt: UnixTime {
      var moved = max(glance.changedAt ?? .init(nanoseconds: 0), glance.life.times.createdAt)
      if case .ended(let at) = glance.life.phase { moved = max(moved, at) }
      return moved
    }
  }

  private(set) var rows: [TripID: Row] = [:]
  /// Whether all trips were seen once.
  private(set) var isComplete = false
  private var cursor: TripCursor?
  private var turn = 0

  // MARK: Gathering

  /// Reads the next page and what is out of turn.
  ///
  /// - Parameter shown: trips on somebody's screen.
  mutating func advance(_ store: TripStore, shown: Set<TripID>) async throws(StoreError) {
    let page = try await store.listTrips(after: cursor, limit: Self.pageSize)
    let moving = try await store.unpublishedTrips().prefix(Self.mostOutOfTurn)
    let ids = Array(Set(page.trips).union(moving).union(shown))
    for (id, glance) in zip(ids, await store.glances(at: ids)) { note(try glance.get(), of: id) }
    cursor = page.next
    if cursor == nil { finishTurn() }
  }

  mutating func note(_ glance: TripGlance?, of id: TripID) {
    guard let glance else {
      rows[id] = nil
      return
    }
    var text = rows[id]?.text
    if text == nil || rows[id]?.glance.name != glance.name {
      text = "\(glance.name)\n\(glance.notebook ?? "")\n\(id.text)\n\(glance.typeName)".lowercased()
    }
    rows[id] = Row(glance: glance, text: text ?? "", turn: turn)
  }

  /// All pages were read: what none of them had is gone.
  mutating func finishTurn() {
    rows = rows.filter { $0.value.turn == turn }
    turn += 1
    isComplete = true
  }

  // MARK: Showing

  /// The trips that moved last, of those that are wanted, and how many are.
  func newest(for wish: EventWish) -> (ids: [TripID], matching: Int) {
    var best: [(moved: UnixTime, id: TripID)] = []
    var matching = 0
    for (id, row) in rows where wish.selection.includes(row.glance.life.phase) {
      guard wish.search.isEmpty || row.text.contains(wish.search) else { continue }
      matching += 1
      let entry = (moved: row.movedAt, id: id)
      if best.count == wish.limit, let last = best.last, !Self.isNewer(entry, last) { continue }
      let place = best.firstIndex { Self.isNewer(entry, $0) } ?? best.endIndex
      best.insert(entry, at: place)
      if best.count > wish.limit { best.removeLast() }
    }
    return (best.map(\.id), matching)
  }

  private static func isNewer(
    _ one: (moved: UnixTime, id: TripID), _ other: (moved: UnixTime, id: TripID)
  ) -> Bool {
    one.moved != other.moved ? one.moved > other.moved : one.id.text < other.id.text
  }

  struct Totals: Equatable {
    var phases: [String: Int] = [:]
    var members: [Reach: Int] = [:]
    /// Live trips with changes that no accepted broadcast at priority 10 carries.
    var behind = 0
    /// Live trips whose app had no channel left.
    var withoutChannel = 0
    /// Channels of ended trips that are to be deleted, and when the first is.
    var deletions = 0
    var nextDeletion: UnixTime?
  }

  var totals: Totals {
    var totals = Totals()
    for row in rows.values {
      let life = row.glance.life
      totals.phases[life.phase.name, default: 0] += 1
      if case .deletionDue(_, let at) = life.channel {
        totals.deletions += 1
        totals.nextDeletion = min(totals.nextDeletion ?? at, at)
      }
      guard life.phase == .live else { continue }
      for (reach, count) in row.glance.memberCounts { totals.members[reach, default: 0] += count }
      if row.glance.waitingChanges > 0 { totals.behind += 1 }
      if life.channel == .unavailable { totals.withoutChannel += 1 }
    }
    return totals
  }

  /// The event for a listener.
  func written(_ newest: (ids: [TripID], matching: Int), _ totals: Totals) -> [UInt8] {
    var writer = JSONWriter(reservingCapacity: 16_384)
    writer.object {
      $0.member("known", rows.count)
      $0.member("complete", isComplete)
      $0.member("matching", newest.matching)
      $0.key("totals")
      $0.object { write(totals, to: &$0) }
      $0.key("trips")
      $0.array { list in
        for id in newest.ids {
          guard let row = rows[id] else { continue }
          list.object { write(row, of: id, to: &$0) }
        }
      }
    }
    return writer.finish()
  }

  private func write(_ totals: Totals, to writer: inout JSONWriter) {
    for phase in ["scheduled", "live", "ending", "ended"] {
      writer.member(phase, totals.phases[phase] ?? 0)
    }
    writer.member("behind", totals.behind)
    writer.member("withoutChannel", totals.withoutChannel)
    writer.member("deletions", totals.deletions)
    if let next = totals.nextDeletion { writer.member("nextDeletion", next.milliseconds) }
    writer.members(totals.members)
  }

  private func write(_ row: Row, of id: TripID, to writer: inout JSONWriter) {
    let glance = row.glance
    writer.member("trip", id.text)
    writer.member("name", glance.name)
    if let notebook = glance.notebook { writer.member("notebook", notebook) }
    writer.member("type", glance.typeName)
    writer.member("phase", glance.life.phase.name)
    writer.member("channel", glance.life.channel.name)
    writer.member("revision", glance.revision.number)
    writer.member("published", glance.publishedRevision.number)
    writer.member("waiting", glance.life.phase == .live ? glance.waitingChanges : 0)
    if let changed = glance.changedAt { writer.member("changedAt", changed.milliseconds) }
    writer.member("movedAt", row.movedAt.milliseconds)
    writer.members(glance.memberCounts)
  }
}
