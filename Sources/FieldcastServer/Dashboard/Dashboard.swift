internal import Clocks
internal import FieldTrips
internal import HTTP
internal import JSON
internal import Transport
internal import TripStore

/// What `GET /v1/events` tells, to as many as listen.
///
/// It looks once a second while somebody listens, and not at all while nobody does; what several
/// want is read once. Each part is read by itself, so that one which cannot be read, or takes long,
/// holds up no other. Nearly all of it is read from the store, so that any node can tell of trips
/// that another one owns. Each event tells the whole of its part, so a newer one replaces the one
/// before: a listener that comes back needs no more than what a new one gets, and one that reads
/// slowly gets the newest when it has read what it was sent.
actor Dashboard {
  nonisolated var unownedExecutor: UnownedSerialExecutor {
    loop.serial.asUnownedSerialExecutor()
  }

  struct Feed {
    let wish: EventWish
    let events: ServerSentEvents
    /// Who listens, to count them by.
    let caller: String
    /// What it was told of each part last.
    var told: [String: [UInt8]] = [:]
  }

  /// Real time, from one look to the next.
  static let period = Duration.seconds(1)
  /// Whoever comes does not wait that long, unless many come.
  private static let newcomersPeriod = Duration.milliseconds(100)
  static let mostListeners = 64
  /// So many of them may be one caller's: the others are for others.
  static let mostOfOneCaller = 16
  /// A listener with more than this unread is told more when it has read it.
  private static let mostUnread = 65_536

  nonisolated let loop: EventLoop
  let views: DashboardViews
  private let clock: ServiceClock
  private let log: ServiceLog
  private(set) var feeds: [Int: Feed] = [:]
  private var nextFeed = 0

  // What was read of each part.
  var list = TripList()
  var pages: [TripID: (bytes: [UInt8], at: Moment)] = [:]
  private var readings: [EventWish.Part: [UInt8]] = [:]
  private var reading: Set<EventWish.Part> = []
  private var lastReads: [EventWish.Part: Moment] = [:]
  /// Why a part cannot be read now.
  private var troubles: [EventWish.Part: String] = [:]

  private let nursery: Nursery
  private var lastLook = Moment.distantPast
  private var hasNewcomers = false
  private var timer: LoopTimer?
  private var sleeper: UnsafeContinuation<Void, Never>?
  private var isClosed = false

  init(views: DashboardViews, clock: ServiceClock, log: ServiceLog, loop: EventLoop) {
    self.views = views
    self.clock = clock
    self.log = log
    self.loop = loop
    nursery = Nursery(loop: loop)
  }

  // MARK: Listeners

  /// Begins to tell somebody.
  ///
  /// - Parameter scopes: what the caller's token allows.
  func listen(
    _ routed: RoutedRequest, scopes: Set<AccessScope>, by caller: Caller
  ) -> HTTPReply {
    let wish: EventWish
    do throws(Refusal) { wish = try EventWish(routed.query, scopes: scopes) } catch {
      return .response(ProblemDocument(error).response)
    }
    let caller = caller.key(from: routed.context.peerAddress)
    if let refusal = refusal(of: caller) { return .response(refusal) }
    let id = nextFeed
    nextFeed += 1
    let events = ServerSentEvents(
      // A proxy that gathers what it passes on would hold events back.
      fields: ["x-accel-buffering": "no"], onClose: { [weak self] in self?.left(id) },
      farewell: { Self.farewell($0) })
    events.send(hello(wish, scopes))
    feeds[id] = Feed(wish: wish, events: events, caller: caller)
    hasNewcomers = true
    wake()
    return .events(events)
  }

  private func refusal(of caller: String) -> HTTPResponse? {
    let sentence: String
    if feeds.count >= Self.mostListeners || isClosed {
      sentence = "This node tells \(Self.mostListeners) listeners at most."
    } else if feeds.values.count(where: { $0.caller == caller }) >= Self.mostOfOneCaller {
      sentence =
        "You listen \(Self.mostOfOneCaller) times at this node, and no more are one caller's."
    } else {
      return nil
    }
    return ProblemDocument(.tooManyListeners, sentence, retryAfter: 10).response
  }

  private nonisolated func left(_ id: Int) {
    loop.execute { self.assumeIsolated { $0.forget(id) } }
  }

  private func forget(_ id: Int) {
    feeds[id] = nil
    guard feeds.isEmpty else { return }
    list = TripList(after: list)
    pages = [:]
    readings = [:]
    lastReads = [:]
    troubles = [:]
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
      case .tooSlow: "Nothing was read for too long. What is sent next is all of it again."
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
      await withTaskGroup(of: Void.self) { group in
        group.addTask { await self.nursery.run() }
        while await isNextLookDue() {
          hasNewcomers = false
          lastLook = loop.now
          look()
        }
        nursery.close()
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

  private func look() {
    for part in EventWish.Part.allCases where isWanted(part) && isDue(part) {
      reading.insert(part)
      lastReads[part] = loop.now
      nursery.start { [self] in await read(part) }
    }
    for part in EventWish.Part.allCases { tell(part) }
    tellOfTroubles()
  }

  private func isDue(_ part: EventWish.Part) -> Bool {
    guard !reading.contains(part) else { return false }
    if part == .trip,
      wishes(for: .trip).contains(where: { $0.trip.map { pages[$0] == nil } ?? false })
    {
      return true
    }
    return lastReads[part].map { loop.now - $0 >= views.period(of: part) } ?? true
  }

  private func read(_ part: EventWish.Part) async {
    var reason = ""
    do throws(StoreError) {
      switch part {
      case .trips: try await gatherTrips()
      case .trip: try await readPages()
      case .channels, .nodes, .health, .deadLetters:
        let bytes = try await views.read(part)
        if !feeds.isEmpty { readings[part] = bytes }
      }
    } catch {
      reason = "\(error)"
    }
    reading.remove(part)
    if !reason.isEmpty, !troubles.values.contains(reason) {
      log.warning(
        "what is watched cannot be read now", ["part": part.rawValue, "reason": reason])
    }
    troubles[part] = reason.isEmpty ? nil : reason
    tell(part)
    tellOfTroubles()
  }

  func isWanted(_ part: EventWish.Part) -> Bool {
    feeds.values.contains { $0.wish.parts.contains(part) }
  }

  func wishes(for part: EventWish.Part) -> Set<EventWish> {
    Set(feeds.values.lazy.map(\.wish).filter { $0.parts.contains(part) })
  }

  // MARK: Telling

  private func tell(_ part: EventWish.Part) {
    switch part {
    case .trips: tellOfTrips()
    case .trip:
      for (trip, page) in pages {
        tell("trip", page.bytes) { $0.trip == trip && $0.parts.contains(.trip) }
      }
    case .channels, .nodes, .health, .deadLetters:
      if let bytes = readings[part] {
        tell(part.rawValue, bytes) { $0.parts.contains(part) }
      }
    }
  }

  private func tellOfTroubles() {
    let wanted = troubles.filter { isWanted($0.key) }.sorted { $0.key.rawValue < $1.key.rawValue }
    var writer = JSONWriter()
    writer.object {
      $0.member("reason", wanted.first?.value ?? "")
      $0.key("parts")
      $0.array { list in for trouble in wanted { list.string(trouble.key.rawValue) } }
    }
    tell("store", writer.finish()) { _ in true }
  }

  /// Tells those listeners what they were not told yet.
  func tell(_ name: String, _ bytes: [UInt8], _ isMeant: (EventWish) -> Bool) {
    for (id, feed) in feeds where isMeant(feed.wish) {
      guard feed.told[name] != bytes, feed.events.unreadBytes <= Self.mostUnread else { continue }
      feeds[id]?.told[name] = bytes
      feed.events.send(ServerSentEvent(name: name, bytes: bytes))
    }
  }
}
