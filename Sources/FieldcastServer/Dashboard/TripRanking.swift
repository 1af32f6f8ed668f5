internal import Clocks
internal import FieldTrips

/// Which trips a list is of.
struct TripFilter: Hashable, Sendable {
  var selection = EventWish.Selection.all
  /// What their names, notebooks, types or IDs contain: UTF-8 in lower case, byte by byte; empty
  /// for every trip.
  var search: [UInt8] = []

  func includes(_ row: TripIndex.Row) -> Bool {
    selection.includes(row.phase) && (search.isEmpty || Self.contains(row.text, search))
  }

  private static func contains(_ text: [UInt8], _ words: [UInt8]) -> Bool {
    guard let first = words.first, words.count <= text.count else { return words.isEmpty }
    for start in 0...(text.count - words.count) where text[start] == first {
      if text[start..<start + words.count].elementsEqual(words) { return true }
    }
    return false
  }
}

/// The trips of a list that moved last, kept right as they change, so that nobody goes through all
/// of them to tell it.
///
/// It keeps more than a list shows: when some of them leave it, those behind them are there. What is
/// missing behind those comes back as the index goes through all trips in turn.
struct TripRanking {
  /// Twice as many as the longest list shows.
  static let depth = 400

  private struct Entry {
    var moved: UnixTime
    var id: TripID

    func isBefore(_ other: Entry) -> Bool {
      moved != other.moved ? moved > other.moved : id < other.id
    }
  }

  let filter: TripFilter
  /// How many trips the list is of.
  private(set) var matching = 0
  /// Raised by each change of what it tells.
  private(set) var changes = 0
  private var best: [Entry] = []

  /// Goes through all trips, once.
  init(_ filter: TripFilter, of rows: [TripID: TripIndex.Row]) {
    self.filter = filter
    for (id, row) in rows { replace(nil, by: row, of: id) }
  }

  /// Those that moved last first.
  func newest(_ limit: Int) -> [TripID] { best.prefix(limit).map(\.id) }

  mutating func replace(_ old: TripIndex.Row?, by new: TripIndex.Row?, of id: TripID) {
    let before = old.flatMap { filter.includes($0) ? $0 : nil }
    let after = new.flatMap { filter.includes($0) ? $0 : nil }
    guard before != nil || after != nil else { return }
    changes += 1
    matching += (after == nil ? 0 : 1) - (before == nil ? 0 : 1)
    if let before {
      let entry = Entry(moved: before.movedAt, id: id)
      let place = place(of: entry)
      if place < best.count, best[place].id == id { best.remove(at: place) }
    }
    if let after { insert(Entry(moved: after.movedAt, id: id)) }
  }

  /// A trip that is as it was: it may have been left out for want of room.
  mutating func offer(_ row: TripIndex.Row, of id: TripID) {
    let entry = Entry(moved: row.movedAt, id: id)
    guard hasRoom(for: entry), filter.includes(row), insert(entry) else { return }
    changes += 1
  }

  private func hasRoom(for entry: Entry) -> Bool {
    guard best.count >= Self.depth, let last = best.last else { return true }
    return entry.isBefore(last)
  }

  @discardableResult
  private mutating func insert(_ entry: Entry) -> Bool {
    guard hasRoom(for: entry) else { return false }
    let place = place(of: entry)
    if place < best.count, best[place].id == entry.id { return false }
    best.insert(entry, at: place)
    if best.count > Self.depth { best.removeLast() }
    return true
  }

  /// Where it stands, or would.
  private func place(of entry: Entry) -> Int {
    var (low, high) = (0, best.count)
    while low < high {
      let middle = (low + high) / 2
      if best[middle].isBefore(entry) { low = middle + 1 } else { high = middle }
    }
    return low
  }
}
