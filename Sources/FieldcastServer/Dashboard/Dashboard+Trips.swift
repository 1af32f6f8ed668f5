internal import Clocks
internal import FieldTrips
internal import TripStore

/// What was gathered of all trips, and the events that tell of it.
struct TripList {
  /// Trips of a page: until all were seen once, so that the list is soon whole, and from then on.
  static let firstPageSize = 1_000
  static let pageSize = 250
  /// Trips that are read out of turn each time, of those that move and of those on somebody's screen.
  static let mostMoving = 250
  static let mostShown = 250
  /// Trips that are asked for, and taken in, without letting others go first.
  static let batchSize = 125
  /// New searches that are begun each time.
  static let mostNewRankings = 4

  var index = TripIndex()
  /// Whether anything was read.
  var hasBegun = false
  var cursor: TripCursor?
  /// Where the trips that are read out of turn go on.
  var nextPartition = 0
  var nextShown = 0
  var events: [EventWish: (ranking: Int, totals: Int, bytes: [UInt8])] = [:]
  /// Tells this list from those before it.
  let number: Int

  init() { number = 0 }

  /// An empty one, for when nobody watches any more.
  init(after last: TripList) { number = last.number + 1 }

  /// Those of the trips on screens that are read now: the next ones each time, if there are many.
  mutating func next(of shown: Set<TripID>) -> [TripID] {
    guard shown.count > Self.mostShown else { return Array(shown) }
    let sorted = shown.sorted()
    let first = nextShown % sorted.count
    nextShown = first + Self.mostShown
    return (first..<nextShown).map { sorted[$0 % sorted.count] }
  }
}

extension Dashboard {
  // MARK: All trips

  /// Reads the next page of all trips, and at once some of those that are ahead of what phones show
  /// and some of those on a screen.
  ///
  /// However many trips and listeners there are, no more is read each time; what rests is seen a turn
  /// later.
  func gatherTrips() async throws(StoreError) {
    let number = list.number
    let size = list.index.isComplete ? TripList.pageSize : TripList.firstPageSize
    let page = try await views.store.listTrips(after: list.cursor, limit: size)
    let moving = try await views.store.someUnpublishedTrips(
      from: list.nextPartition, limit: TripList.mostMoving)
    guard list.number == number else { return }
    list.nextPartition = (list.nextPartition + TripList.mostMoving) % views.store.partitionCount
    let ids = Array(Set(page.trips).union(moving).union(list.next(of: shown)))
    for start in stride(from: 0, to: ids.count, by: TripList.batchSize) {
      let batch = Array(ids[start..<min(start + TripList.batchSize, ids.count)])
      let glances = await views.store.glances(at: batch)
      guard list.number == number else { return }
      for (id, glance) in zip(batch, glances) { list.index.note(try Self.content(glance), of: id) }
    }
    list.cursor = page.next
    list.hasBegun = true
    if page.next == nil { list.index.finishTurn() }
  }

  /// One trip that this program cannot read is no reason to tell of none.
  private static func content(
    _ glance: Result<TripGlance?, StoreError>
  ) throws(StoreError) -> TripIndex.Row.Content? {
    do throws(StoreError) {
      return try glance.get().map(TripIndex.Row.Content.glance)
    } catch .unexpectedReply(let reason) {
      return .unreadable(reason)
    }
  }

  /// The trips on screens.
  private var shown: Set<TripID> {
    var shown: Set<TripID> = []
    for wish in wishes(for: .trips) {
      guard let ranking = list.index.ranking(wish.filter) else { continue }
      shown.formUnion(ranking.newest(wish.limit))
    }
    return shown
  }

  func tellOfTrips() {
    guard list.hasBegun else { return }
    let wishes = wishes(for: .trips)
    list.events = list.events.filter { wishes.contains($0.key) }
    list.index.rank(Set(wishes.map(\.filter)), atMost: TripList.mostNewRankings)
    for wish in wishes {
      guard let ranking = list.index.ranking(wish.filter) else { continue }
      let totals = list.index.changes
      if let event = list.events[wish], event.ranking == ranking.changes, event.totals == totals {
        tell("trips", event.bytes) { $0 == wish }
        continue
      }
      let bytes = list.index.written(ranking, limit: wish.limit)
      list.events[wish] = (ranking.changes, totals, bytes)
      tell("trips", bytes) { $0 == wish }
    }
  }

  // MARK: Single trips

  /// Pages that are read each time: each costs as much as some hundred trips of a list.
  private static let mostPages = 8

  /// Reads the pages of those trips that were read longest ago.
  func readPages() async throws(StoreError) {
    let wanted = Set(wishes(for: .trip).compactMap(\.trip))
    pages = pages.filter { wanted.contains($0.key) }
    for trip in Self.nextPages(of: wanted, readAt: pages.mapValues(\.at)) {
      let page = try await views.page(of: trip)
      guard !feeds.isEmpty else { return }
      pages[trip] = (page, loop.now)
    }
  }

  /// Those that were read longest ago, as many as are read each time.
  static func nextPages(of wanted: Set<TripID>, readAt: [TripID: Moment]) -> ArraySlice<TripID> {
    wanted.sorted {
      (readAt[$0] ?? .distantPast, $0) < (readAt[$1] ?? .distantPast, $1)
    }.prefix(mostPages)
  }
}
