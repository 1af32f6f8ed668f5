internal import Clocks
internal import FieldTrips
internal import HTTP
internal import JSON
internal import Transport
internal import TripStore

/// What `GET /v1/events` tells, to as many as listen.
///
/// It looks once a second while somebody listens, and not at all while nobody does; what several
/// want is read once. Nearly all of it is read from the store, so that any node can tell of trips
/// that another one owns. Each event tells the whole of its part, so a newer one replaces the one
/// before: a listener that comes back needs no more than what a new one gets, and one that reads
/// slowly gets the newest when it has read what it was sent.
actor Dashboard {
  nonisolated var unownedExecutor: UnownedSerialExecutor {
    loop.serial.asUnownedSerialExecutor()
  }

  private struct Feed {
    let wish: EventWish
    let events: ServerSentEvents
    /// What it was told of each part last.
    var told: [String: [UInt8]] = [:]
  }

  /// Real time, from the end of one look to the begin of the next.
  static let period = Duration.seconds(1)
  /// Whoever comes does not wait that long, unless many come.
  private static let newcomersPeriod = Duration.milliseconds(100)
  static let mostListeners = 64
  /// A listener with more than this unread is told more when it has read it.
  private static let mostUnread = 65_536

  nonisolated let loop: EventLoop
  private let views: DashboardViews
  private let clock: ServiceClock
  private let log: ServiceLog
  private var feeds: [Int: Feed] = [:]
  private var nextFeed = 0
  private var index = TripIndex()
  /// The trips that each list shows, as the index is now; those of new wishes are missing.
  private var shownTrips: [EventWish: [TripID]] = [:]
  private var readings: [EventWish.Part: (bytes: [UInt8], at: Moment)] = [:]
  private var lastLook = Moment.distantPast
  private var hasNewcomers = false
  private var trouble = ""
  private var timer: LoopTimer?
  private var sleeper: UnsafeContinuation<Void, Never>?
  private var isClosed = false

  init(views: DashboardViews, clock: ServiceClock, log: ServiceLog, loop: EventLoop) {
    self.views = views
    self.clock = clock
    self.log = log
    self.loop = loop
  }

  // MARK: Listeners

  /// Begins to tell somebody.
  ///
  /// - Parameter scopes: what the caller's token allows.
  func listen(_ routed: RoutedRequest, scopes: Set<AccessScope>) -> HTTPReply {
    let wish: EventWish
    do throws(Refusal) { wish = try EventWish(routed.query, scopes: scopes) } catch {
      return .response(ProblemDocument(error).response)
    }
    guard feeds.count < Self.mostListeners, !isClosed else {
      return .response(
        ProblemDocument(
          .tooManyListeners, "This node tells \(Self.mostListeners) listeners at most.",
          retryAfter: 10
        ).response)
    }
    let id = nextFeed
    nextFeed += 1
    let events = ServerSentEvents(
      // A proxy that gathers what it passes on would hold events back.
      fields: ["x-accel-buffering": "no"], onClose: { [weak self] in self?.left(id) },
      farewell: { Self.farewell($0) })
    events.send(hello(wish, scopes))
    feeds[id] = Feed(wish: wish, events: events)
    hasNewcomers = true
    wake()
    return .events(events)
  }

  private nonisolated func left(_ id: Int) {
    loop.execute { self.assumeIsolated { $0.forget(id) } }
  }

  private func forget(_ id: Int) {
    feeds[id] = nil
    guard feeds.isEmpty else { return }
    index = TripIndex()
    shownTrips = [:]
    readings = [:]
  }

  private func hello(_ wish: EventWish, _ scopes: Set<AccessScope>) -> ServerSentEvent {
    var writer = JSONWriter()
    writer.object {
      $0.member("node", views.node)
      $0.member("now", clock.wall.milliseconds)
      $0.key("speed")
      $0.double(clock.speed)
      $0.key("scopes")
      $0.array { list in for scope in scopes.map(\.rawValue).sorted() { list.string(scope) } }
      $0.key("refused")
      $0.array { list in for part in wish.refused.map(\.rawValue).sorted() { list.string(part) } }
    }
    return ServerSentEvent(name: "hello", retry: .seconds(2), bytes: writer.finish())
  }

  private static func farewell(_ ending: ServerSentEvents.Ending) -> ServerSentEvent {
    let reason =
      switch ending {
      case .shutdown: "This node is shutting down."
      case .tooSlow: "Too much was left unread. What is sent next is all of it again."
      }
    var writer = JSONWriter()
    writer.object {
      $0.member("ending", ending.rawValue)
      $0.member("reason", reason)
    }
    return ServerSentEvent(name: "bye", retry: .seconds(2), bytes: writer.finish())
  }

  // MARK: Looking

  /// Looks and tells until closed or cancelled.
  func run() async {
    await withTaskCancellationHandler {
      while await isNextLookDue() {
        hasNewcomers = false
        await look()
        lastLook = loop.now
      }
    } onCancel: {
      loop.execute { self.assumeIsolated { $0.close() } }
    }
  }

  /// Tells nobody any more.
  func close() {
    isClosed = true
    wake()
  }

  private func isNextLookDue() async -> Bool {
    while !isClosed {
      let due = lastLook + (hasNewcomers ? Self.newcomersPeriod : Self.period)
      if !feeds.isEmpty, due <= loop.now { return true }
      await withUnsafeContinuation { continuation in
        sleeper = continuation
        guard !feeds.isEmpty else { return }
        timer = loop.schedule(at: due) { [self] in assumeIsolated { $0.wake() } }
      }
    }
    return false
  }

  private func wake() {
    if let timer { loop.cancel(timer) }
    timer = nil
    sleeper?.resume()
    sleeper = nil
  }

  private func look() async {
    var reason = ""
    do throws(StoreError) {
      try await tellOfTrips()
      try await tellOfEachTrip()
      try await tellOfTheRest()
    } catch {
      reason = "\(error)"
    }
    if reason != trouble, !reason.isEmpty {
      log.warning("what is watched cannot be read now", ["reason": reason])
    }
    trouble = reason
    var writer = JSONWriter()
    writer.object { $0.member("reason", reason) }
    tell(.none, "store", writer.finish())
  }

  private func tellOfTrips() async throws(StoreError) {
    guard isWanted(.trips) else { return }
    let shown = wishes(for: .trips).flatMap { shownTrips[$0] ?? index.newest(for: $0).ids }
    shownTrips = [:]
    try await advanceIndex(shown: Set(shown))
    let totals = index.totals
    // Each wish goes through all trips, however many listeners have it.
    for wish in wishes(for: .trips) {
      let newest = index.newest(for: wish)
      shownTrips[wish] = newest.ids
      let event = index.written(newest, totals)
      for (id, feed) in feeds where feed.wish == wish { tell(id, "trips", event) }
    }
  }

  private func advanceIndex(shown: Set<TripID>) async throws(StoreError) {
    // Taken out while it reads, so that it is not copied whole: nobody else looks at it.
    var taken = index
    index = TripIndex()
    defer { if !feeds.isEmpty { index = taken } }
    try await taken.advance(views.store, shown: shown)
  }

  private func tellOfEachTrip() async throws(StoreError) {
    for trip in Set(wishes(for: .trip).compactMap(\.trip)) {
      let page = try await views.page(of: trip)
      for (id, feed) in feeds where feed.wish.trip == trip && feed.wish.parts.contains(.trip) {
        tell(id, "trip", page)
      }
    }
  }

  private func tellOfTheRest() async throws(StoreError) {
    for part in [EventWish.Part.health, .nodes, .channels, .deadLetters] where isWanted(part) {
      var reading = readings[part]
      if let at = reading?.at, loop.now - at >= views.period(of: part) { reading = nil }
      let bytes: [UInt8]
      if let reading {
        bytes = reading.bytes
      } else {
        bytes = try await views.read(part)
        readings[part] = (bytes, loop.now)
      }
      for (id, feed) in feeds where feed.wish.parts.contains(part) {
        tell(id, part.rawValue, bytes)
      }
    }
  }

  private func isWanted(_ part: EventWish.Part) -> Bool {
    feeds.values.contains { $0.wish.parts.contains(part) }
  }

  private func wishes(for part: EventWish.Part) -> Set<EventWish> {
    Set(feeds.values.lazy.map(\.wish).filter { $0.parts.contains(part) })
  }

  // MARK: Telling

  /// Tells a listener, or all of them, what they were not told yet.
  private func tell(_ id: Int?, _ name: String, _ bytes: [UInt8]) {
    for id in id.map({ [$0] }) ?? Array(feeds.keys) {
      guard let feed = feeds[id], feed.told[name] != bytes,
        feed.events.unreadBytes <= Self.mostUnread
      else { continue }
      feeds[id]?.told[name] = bytes
      feed.events.send(ServerSentEvent(name: name, bytes: bytes))
    }
  }
}
