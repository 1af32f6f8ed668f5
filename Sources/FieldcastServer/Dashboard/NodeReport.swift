internal import APNs
internal import Clocks
internal import FieldTrips
internal import HTTP
internal import JSON
internal import Redis
internal import Transport
internal import TripStore

/// Says how this node fares, for whoever watches at whichever node: every two seconds, of the last
/// minute, into a key that goes with the node.
actor NodeReporter {
  nonisolated var unownedExecutor: UnownedSerialExecutor {
    loop.serial.asUnownedSerialExecutor()
  }

  /// Real time.
  static let period = Duration.seconds(2)
  /// So many periods are a minute.
  static let periods = 30

  /// Counts at one moment; what they differ by is what happened in between.
  private struct Sample {
    var applied = 0
    var accepted10 = 0
    var accepted5 = 0
    var throttled = 0
    var failed = 0
    var broadcast = TimeHistogram()
    var commit = TimeHistogram()
  }

  nonisolated let loop: EventLoop
  let node: String
  private let store: TripStore
  private let owner: Owner
  private let clients: [APNsClient]
  private let redis: any ConnectedRedis
  private let times: StageTimes
  private let clock: ServiceClock
  private let startedAt: UnixTime
  /// The oldest first.
  private var samples: [Sample] = []
  private var redisLatency: Duration?

  init(
    node: String, store: TripStore, owner: Owner, clients: [APNsClient],
    redis: any ConnectedRedis, times: StageTimes, clock: ServiceClock, loop: EventLoop
  ) {
    self.node = node
    self.store = store
    self.owner = owner
    self.clients = clients
    self.redis = redis
    self.times = times
    self.clock = clock
    self.loop = loop
    startedAt = clock.wall
  }

  /// Reports until cancelled.
  func run() async {
    while !Task.isCancelled {
      await sample()
      let report = await written()
      let began = MonotonicClock.now()
      do throws(StoreError) {
        try await store.report(report, of: node, life: Self.period * 5)
        redisLatency = MonotonicClock.now() - began
      } catch {
        // Whoever watches sees that the report is missing; others say why.
        redisLatency = nil
      }
      guard (try? await loop.sleep(for: Self.period)) != nil else { return }
    }
  }

  private func sample() async {
    let counts = await owner.counts
    samples.append(
      Sample(
        applied: counts.applied, accepted10: counts.broadcasts10, accepted5: counts.broadcasts5,
        throttled: counts.throttled, failed: counts.failed, broadcast: times[.broadcast],
        commit: times[.commit]))
    if samples.count > Self.periods + 1 { samples.removeFirst() }
  }

  // MARK: Writing

  /// Whether every server of Redis can be asked.
  var isConnected: Bool { get async { await redis.isConnected } }

  /// The report as JSON. Times are milliseconds since 1970 by the service's clock, spans are real.
  func written() async -> [UInt8] {
    let (partitions, trips) = (await owner.ownerships.count, await owner.tripsInMemory)
    let refusals = await owner.refusals
    let (isConnected, losses) = (await redis.isConnected, await redis.losses)
    var health: [(app: String, health: APNsHealth)] = []
    for client in clients { health.append(("\(client.app)", await client.health)) }
    var writer = JSONWriter(reservingCapacity: 4_096)
    writer.object {
      $0.member("at", clock.wall.milliseconds)
      $0.member("startedAt", startedAt.milliseconds)
      $0.member("partitions", partitions)
      $0.member("tripsInMemory", trips)
      if let usage = ProcessUsage.ofThisProcess { $0.member("memory", usage.residentBytes) }
      writeMinute(to: &$0)
      $0.key("apns")
      $0.array { list in
        for (app, health) in health { list.object { write(health, of: app, to: &$0) } }
      }
      $0.key("refusals")
      $0.array { list in
        for refusal in refusals.newest { list.object { write(refusal, to: &$0) } }
      }
      $0.key("redis")
      $0.object {
        $0.member("connected", isConnected)
        $0.member("losses", losses)
        if let redisLatency { $0.member("microseconds", redisLatency.wholeNanoseconds / 1_000) }
      }
    }
    return writer.finish()
  }

  private func writeMinute(to writer: inout JSONWriter) {
    let series: [(name: String, count: (Sample) -> Int)] = [
      ("applied", { $0.applied }), ("accepted10", { $0.accepted10 }),
      ("accepted5", { $0.accepted5 }), ("throttled", { $0.throttled }), ("failed", { $0.failed }),
    ]
    writer.key("minute")
    writer.object {
      $0.member("seconds", Self.period.components.seconds)
      for (name, count) in series {
        $0.key(name)
        $0.array { list in
          for (one, next) in zip(samples, samples.dropFirst()) {
            list.int(count(next) - count(one))
          }
        }
      }
      guard let first = samples.first, let last = samples.last else { return }
      write(last.broadcast.since(first.broadcast), "broadcast", to: &$0)
      write(last.commit.since(first.commit), "commit", to: &$0)
    }
  }

  private func write(_ histogram: TimeHistogram, _ key: String, to writer: inout JSONWriter) {
    writer.key(key)
    writer.object {
      $0.member("count", histogram.count)
      for (name, share) in [("p50", 0.5), ("p99", 0.99)] {
        guard let seconds = histogram.quantile(share) else { continue }
        $0.key(name)
        $0.double(seconds)
      }
    }
  }

  private func write(_ health: APNsHealth, of app: String, to writer: inout JSONWriter) {
    writer.member("app", app)
    if let problem = health.problem { writer.member("problem", problem) }
    let pools = [
      ("broadcasts", health.broadcasts), ("channels", health.management),
      ("pushes", health.pushes),
    ]
    writer.key("pools")
    writer.array { list in
      for (name, pool) in pools {
        list.object {
          $0.member("name", name)
          $0.member("host", pool.host)
          $0.member("open", pool.open)
          $0.member("inFlight", pool.inFlight)
          $0.member("waiting", pool.waiting)
          $0.member("failedToOpen", pool.failedToOpen)
          if let end = pool.lastEnd { $0.member("lastEnd", end) }
        }
      }
    }
  }

  private func write(_ refusal: RecentRefusals.Refusal, to writer: inout JSONWriter) {
    writer.member("at", refusal.at.milliseconds)
    writer.member("trip", refusal.trip.text)
    writer.member("outcome", refusal.outcome)
    writer.member("answer", refusal.answer)
  }
}

/// The last answers of APNs to broadcasts that were no acceptance.
struct RecentRefusals: Sendable {
  struct Refusal: Sendable {
    var at: UnixTime
    var trip: TripID
    /// As a timeline names it.
    var outcome: String
    var answer: String
  }

  static let mostKept = 12

  /// The newest last.
  private(set) var newest: [Refusal] = []

  mutating func add(_ refusal: Refusal) {
    if newest.count == Self.mostKept { newest.removeFirst() }
    newest.append(refusal)
  }
}
