internal import Clocks
internal import HTTP
internal import Redis
internal import Transport

/// Hands captures to the doors at their scheduled moments, whatever has become of those before.
actor CaptureDriver {
  nonisolated var unownedExecutor: UnownedSerialExecutor {
    loop.serial.asUnownedSerialExecutor()
  }

  /// Where the load's trips are, by their place in the schedule.
  struct Trips: Sendable {
    var ids: [String]
    var members: Int
  }

  private struct Order: Sendable {
    let note: CaptureNote
    let door: ServiceDoors.Door
  }

  private nonisolated let loop: EventLoop
  private let target: LoadTarget
  private let settings: LoadSettings
  private let trips: Trips
  private let redis: RedisClient
  private let scheduled: @Sendable ([CaptureNote]) -> Void
  private var tally = DoorTally()
  private var numbers: [Int]
  private var origin = Moment.origin
  private var orders: [Order] = []
  private var ordersTaken = 0
  private var idle: [UnsafeContinuation<Void, Never>] = []
  private var isOver = false

  /// - Parameter scheduled: hears of captures before they are sent, in their order; on the loop.
  init(
    target: LoadTarget, settings: LoadSettings, trips: Trips, loop: EventLoop,
    scheduled: @escaping @Sendable ([CaptureNote]) -> Void
  ) {
    self.target = target
    self.settings = settings
    self.trips = trips
    self.loop = loop
    self.scheduled = scheduled
    numbers = Array(repeating: 0, count: trips.ids.count)
    var configuration = target.redis
    configuration.maxInFlight = 200_000
    configuration.maxWaiting = 2_000_000
    configuration.commandDeadline = .seconds(30)
    configuration.clientName = "fieldcast-load"
    redis = RedisClient(configuration: configuration, loop: loop)
  }

  var present: DoorTally { tally }

  /// Sends everything; returns when every capture has its answer.
  ///
  /// - Parameter start: when the load begins; soon.
  func run(from start: Moment) async throws -> DoorTally {
    origin = start
    try await redis.waitUntilConnected(deadline: .seconds(5))
    await withDiscardingTaskGroup { group in
      if settings.doors.contains(.rest) {
        for _ in 0..<settings.restConnections { group.addTask { await self.serveREST() } }
      }
      await follow(&group)
      isOver = true
      wake(idle.count)
    }
    await redis.close()
    return tally
  }

  private func follow(_ group: inout DiscardingTaskGroup) async {
    var schedule = CaptureSchedule(
      settings.shape, trips: trips.ids.count, rate: settings.capturesPerSecond,
      seconds: settings.seconds, rampSeconds: settings.rampSeconds, seed: settings.seed)
    var count = 0
    var next = schedule.next()
    while let arrival = next {
      let due = origin + .nanoseconds(arrival.nanoseconds)
      guard (try? await loop.sleep(until: due)) != nil else { return }
      let now = (MonotonicClock.now() - origin).wholeNanoseconds
      var notes: [CaptureNote] = []
      while let arrival = next, arrival.nanoseconds <= now {
        numbers[arrival.trip] += 1
        notes.append(
          CaptureNote(
            trip: arrival.trip, number: numbers[arrival.trip], scheduledAt: arrival.nanoseconds))
        next = schedule.next()
      }
      scheduled(notes)
      handOver(notes, first: count, &group)
      count += notes.count
    }
  }

  private func handOver(_ notes: [CaptureNote], first: Int, _ group: inout DiscardingTaskGroup) {
    var batch = RedisBatch()
    var batched: [Order] = []
    for (offset, note) in notes.enumerated() {
      let door = settings.doors[(first + offset) % settings.doors.count]
      let order = Order(note: note, door: door)
      if door == .rest {
        orders.append(order)
        continue
      }
      let body = note.written(tripID: trips.ids[note.trip], members: trips.members)
      if door == .publish {
        batch.append("PUBLISH", "fieldcast:notes", body)
      } else {
        batch.append("XADD", "fieldcast:notes:in", "*", "json", body)
      }
      batched.append(order)
      began(order)
    }
    wake(orders.count - ordersTaken)
    guard !batched.isEmpty else { return }
    group.addTask { [batch, batched] in await self.call(batch, of: batched) }
  }

  private func began(_ order: Order) {
    tally.doors[order.door, default: DoorTally.Door()].handedOver += 1
    let now = (MonotonicClock.now() - origin).wholeNanoseconds
    tally.lateness.add(Int((now - order.note.scheduledAt) / 1_000))
  }

  // MARK: Redis

  private func call(_ batch: RedisBatch, of orders: [Order]) async {
    let replies = await redis.callAll(batch)
    for (order, reply) in zip(orders, replies) {
      switch reply {
      case .success(.integer(0)) where order.door == .publish:
        tally.fail(.publish, trip: order.note.trip, "A note was published while nobody listened.")
      case .success: break
      case .failure(let error): tally.fail(order.door, trip: order.note.trip, "\(error)")
      }
    }
  }

  // MARK: REST

  /// One connection that sends one capture after the other.
  private func serveREST() async {
    let client = HTTP1Client(endpoint: target.rest, loop: loop)
    while let order = await nextOrder() { await send(order, by: client) }
    await client.close()
  }

  private func nextOrder() async -> Order? {
    while ordersTaken == orders.count {
      if isOver { return nil }
      await withUnsafeContinuation { continuation in
        if ordersTaken < orders.count || isOver {
          continuation.resume()
        } else {
          idle.append(continuation)
        }
      }
    }
    let order = orders[ordersTaken]
    ordersTaken += 1
    if ordersTaken > 1_024, ordersTaken * 2 > orders.count {
      orders.removeFirst(ordersTaken)
      ordersTaken = 0
    }
    return order
  }

  private func wake(_ count: Int) {
    for _ in 0..<min(count, idle.count) { idle.removeLast().resume() }
  }

  /// A note that was not taken for the moment is sent again, as a careful client does: its ID
  /// keeps it from counting twice.
  private func send(_ order: Order, by client: HTTP1Client) async {
    began(order)
    let tripID = trips.ids[order.note.trip]
    var fields: HTTPFields = ["content-type": "application/json"]
    if let token = target.token { fields["authorization"] = "Bearer \(token)" }
    let request = HTTPRequest(
      method: "POST", path: "/v1/trips/\(tripID)/notes", fields: fields,
      body: order.note.written(tripID: tripID, members: trips.members))
    var problem = ""
    for attempt in 0..<8 {
      if attempt > 0 {
        tally.repeated += 1
        guard (try? await loop.sleep(for: .milliseconds(50 << attempt))) != nil else { return }
      }
      switch await client.send(request, deadline: .seconds(10)) {
      case .answered(let response):
        if response.status == 202 { return }
        problem = "POST notes: \(response.status) \(response.text.prefix(200))"
        if response.status < 500, response.status != 429 {
          return tally.fail(.rest, trip: order.note.trip, problem)
        }
      case .notSent(let failure), .unknown(let failure): problem = failure.message
      }
    }
    tally.fail(.rest, trip: order.note.trip, problem)
  }
}
