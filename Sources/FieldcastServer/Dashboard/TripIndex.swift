internal import Clocks
internal import FieldTrips
internal import JSON
internal import TripStore

/// The trips as a list shows them, while somebody watches.
///
/// Its totals and rankings follow each change, so that to tell of ten trips and of ten thousand costs
/// the same. Only who searches for something new has all of them gone through, once.
struct TripIndex {
  struct Row {
    enum Content: Equatable {
      case glance(TripGlance)
      /// This program cannot read it, and why.
      case unreadable(String)
    }

    let content: Content
    /// What a search looks at: UTF-8 in lower case.
    let text: [UInt8]
    /// When something last happened to it: what a list is sorted by.
    let movedAt: UnixTime
    /// The last turn that found it.
    var turn: Int

    /// Nil if it cannot be read.
    var phase: TripPhase? { glance?.life.phase }

    var glance: TripGlance? { if case .glance(let glance) = content { glance } else { nil } }

    init(_ content: Content, of id: TripID, turn: Int) {
      self.content = content
      self.turn = turn
      switch content {
      case .glance(let glance):
        let words = "\(glance.name)\n\(glance.notebook ?? "")\n\(id.text)\n\(glance.typeName)"
        text = Array(words.lowercased().utf8)
        var moved = max(glance.changedAt ?? .init(nanoseconds: 0), glance.life.times.createdAt)
        if case .ended(let at) = glance.life.phase { moved = max(moved, at) }
        movedAt = moved
      case .unreadable:
        text = Array(id.text.utf8)
        movedAt = UnixTime(nanoseconds: 0)
      }
    }
  }

  struct Totals: Equatable {
    var phases: [String: Int] = [:]
    var members: [Reach: Int] = [:]
    /// Live trips with changes that no accepted broadcast at priority 10 carries.
    var behind = 0
    /// Live trips whose app had no channel left.
    var withoutChannel = 0
    /// Channels of ended trips that are to be deleted, and when the first is: of those that the last
    /// turn found.
    var deletions = 0
    var nextDeletion: UnixTime?
    var unreadable = 0

    fileprivate mutating func count(_ row: Row, by one: Int) {
      guard let glance = row.glance else {
        unreadable += one
        return
      }
      let life = glance.life
      phases[life.phase.name, default: 0] += one
      if case .deletionDue = life.channel { deletions += one }
      guard life.phase == .live else { return }
      for (reach, count) in glance.memberCounts { members[reach, default: 0] += count * one }
      if glance.waitingChanges > 0 { behind += one }
      if life.channel == .unavailable { withoutChannel += one }
    }
  }

  private(set) var rows: [TripID: Row] = [:]
  private(set) var totals = Totals()
  /// Raised by each change of the totals.
  private(set) var changes = 0
  /// Whether all trips were seen once.
  private(set) var isComplete = false
  private var rankings: [TripRanking] = []
  private var turn = 0
  private var nextDeletionOfTurn: UnixTime?

  // MARK: Gathering

  /// Takes in what was read of a trip; nil for one that is gone.
  mutating func note(_ content: Row.Content?, of id: TripID) {
    guard let content else {
      replace(with: nil, of: id)
      return
    }
    if case .glance(let glance) = content, case .deletionDue(_, let at) = glance.life.channel {
      nextDeletionOfTurn = min(nextDeletionOfTurn ?? at, at)
      totals.nextDeletion = min(totals.nextDeletion ?? at, at)
    }
    guard let row = rows[id], row.content == content else {
      return replace(with: Row(content, of: id, turn: turn), of: id)
    }
    rows[id]?.turn = turn
    for place in rankings.indices { rankings[place].offer(row, of: id) }
  }

  /// All pages were read: what none of them had is gone.
  mutating func finishTurn() {
    let gone = rows.filter { $0.value.turn != turn }.map(\.key)
    for id in gone { replace(with: nil, of: id) }
    totals.nextDeletion = nextDeletionOfTurn
    nextDeletionOfTurn = nil
    turn += 1
    changes += 1
    isComplete = true
  }

  private mutating func replace(with row: Row?, of id: TripID) {
    let old = rows.removeValue(forKey: id)
    if let old { totals.count(old, by: -1) }
    if let row {
      totals.count(row, by: 1)
      rows[id] = row
    }
    changes += 1
    for place in rankings.indices { rankings[place].replace(old, by: row, of: id) }
  }

  // MARK: Rankings

  /// Keeps what is ranked to what is wanted.
  ///
  /// - Parameter limit: so many new ones are made at most, since each goes through all trips.
  mutating func rank(_ filters: Set<TripFilter>, atMost limit: Int) {
    rankings.removeAll { !filters.contains($0.filter) }
    let missing = filters.subtracting(rankings.map(\.filter))
    for filter in missing.prefix(limit) { rankings.append(TripRanking(filter, of: rows)) }
  }

  /// Nil while it is not made.
  func ranking(_ filter: TripFilter) -> TripRanking? { rankings.first { $0.filter == filter } }

  // MARK: Showing

  /// The event for a listener.
  func written(_ ranking: TripRanking, limit: Int) -> [UInt8] {
    var writer = JSONWriter(reservingCapacity: 16_384)
    writer.object {
      $0.member("known", rows.count)
      $0.member("complete", isComplete)
      $0.member("matching", ranking.matching)
      $0.key("totals")
      $0.object { writeTotals(to: &$0) }
      $0.key("trips")
      $0.array { list in
        for id in ranking.newest(limit) {
          guard let row = rows[id] else { continue }
          list.object { write(row, of: id, to: &$0) }
        }
      }
    }
    return writer.finish()
  }

  private func writeTotals(to writer: inout JSONWriter) {
    for phase in ["scheduled", "live", "ending", "ended"] {
      writer.member(phase, totals.phases[phase] ?? 0)
    }
    writer.member("behind", totals.behind)
    writer.member("withoutChannel", totals.withoutChannel)
    writer.member("unreadable", totals.unreadable)
    writer.member("deletions", totals.deletions)
    if let next = totals.nextDeletion { writer.member("nextDeletion", next.milliseconds) }
    writer.members(totals.members)
  }

  private func write(_ row: Row, of id: TripID, to writer: inout JSONWriter) {
    writer.member("trip", id.text)
    switch row.content {
    case .unreadable(let reason): writer.member("unreadable", reason)
    case .glance(let glance):
      writer.member("name", glance.name)
      if let notebook = glance.notebook { writer.member("notebook", notebook) }
      writer.member("type", glance.typeName)
      writer.member("phase", glance.life.phase.name)
      writer.member("channel", glance.life.channel.name)
      TripFreshness(
        phase: glance.life.phase, revision: glance.revision, published: glance.publishedRevision
      ).write(to: &writer)
      if let changed = glance.changedAt { writer.member("changedAt", changed.milliseconds) }
      writer.member("movedAt", row.movedAt.milliseconds)
      writer.members(glance.memberCounts)
    }
  }
}

/// How far phones are behind a trip, by the same rule in the list and on the trip's page.
struct TripFreshness {
  let phase: TripPhase
  let revision: Revision
  let published: Revision

  func write(to writer: inout JSONWriter) {
    writer.member("revision", revision.number)
    writer.member("published", published.number)
    writer.member("waiting", phase == .live ? revision.changes(since: published) : 0)
    // Whoever ends a trip has its last state published, or gives up on it.
    if case .ended = phase { writer.member("finalAccepted", published >= revision) }
  }
}
