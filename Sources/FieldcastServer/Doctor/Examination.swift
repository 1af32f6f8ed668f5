internal import APNs
internal import Clocks
internal import FieldTrips
internal import Redis
package import Transport
internal import TripStore

/// Looks at what a service needs, and judges it: Redis with what it holds, APNs, and the clocks.
///
/// It changes nothing in Redis but, as a node would, keeps the provider token with which it asks
/// APNs, if there is none: APNs refuses keys that make a new token too often.
package struct Examination: Sendable {
  let store: ServiceConfiguration.Store
  let apps: [AppConfiguration]
  let partitionCount: Int
  let clock: ServiceClock
  /// How long one answer is waited for.
  let patience: Duration
  let loop: EventLoop

  /// - Parameters:
  ///   - store: where Redis is.
  ///   - apps: none where the settings are wrong.
  package init(
    store: ServiceConfiguration.Store, apps: [AppConfiguration], partitionCount: Int,
    clock: ServiceClock, patience: Duration, loop: EventLoop
  ) {
    self.store = store
    self.apps = apps
    self.partitionCount = partitionCount
    self.clock = clock
    self.patience = patience
    self.loop = loop
  }

  /// Everything that was found, in the order of what depends on what.
  package func findings() async -> [Finding] {
    let deployment: RedisDeployment
    do {
      deployment = try self.deployment
    } catch {
      let unusable = Finding(
        .wrong, "redis", "address", "The Redis URL cannot be used: \(error)",
        why: "Without Redis there is no service.",
        mend: "Set FIELDCAST_REDIS_URL (--redis) as redis://user:password@host:6379/0.")
      return [unusable] + (await apnsFindings(nil))
    }
    let redis = RedisBackend(deployment, loop: loop)
    let findings = await findings(redis.caller, deployment)
    await redis.close(atOnce: true)
    return findings
  }

  private func findings(
    _ redis: any ConnectedRedis, _ deployment: RedisDeployment
  ) async -> [Finding] {
    do {
      try await redis.waitUntilConnected(deadline: patience)
    } catch {
      return [unreachable(deployment.address, "\(error)")] + (await apnsFindings(nil))
    }
    let trips = TripStore(redis: redis, partitionCount: partitionCount)
    var facts = RedisFacts()
    do throws(StoreError) {
      // As the service does; and it changes nothing, for there is no such key.
      try await trips.abandonRequest("examination")
    } catch {
      facts.scriptProblem = "\(error)"
    }
    facts.deniedCommands = try? await trips.deniedCommands()
    var findings: [Finding] = []
    if let cluster = redis as? RedisCluster {
      for master in await cluster.masters {
        findings += await examine(master, of: deployment, facts).findings
      }
    } else {
      await look(at: redis, into: &facts)
      findings += facts.findings
    }
    let data = await dataFacts(trips)
    // The books of another program are not to be written into.
    let isOurs =
      facts.scriptProblem == nil && data.map { $0.version == $0.supportedVersion } == true
    return findings + (data?.findings ?? []) + (await apnsFindings(isOurs ? trips : nil))
  }

  // MARK: Redis

  private var deployment: RedisDeployment {
    get throws {
      var deployment: RedisDeployment
      switch store {
      case .own(let folder): deployment = RedisDeployment(PrivateRedisServer.address(in: folder))
      case .url(let url, let trustFile):
        deployment = try RedisDeployment(url: url) {
          try TLSClientContext(trust: trustFile.map { .systemAnd(file: $0) } ?? .system, alpn: [])
        }
      }
      deployment.server.commandDeadline = patience
      // What a replica says of itself is what is asked for.
      if !deployment.mayFailOver { deployment.server.requiresPrimary = false }
      return deployment
    }
  }

  private func unreachable(_ address: String, _ reason: String) -> Finding {
    if case .own(let folder) = store {
      return Finding(
        .unknown, "redis", "address", "The private redis-server in \(folder) does not run.",
        why: "fieldcast serve starts it, and ends it again.",
        mend: "Ask while the service runs; or name another Redis in FIELDCAST_REDIS_URL (--redis).")
    }
    return Finding(
      .wrong, "redis", "address", "Redis at \(address) cannot be used: \(reason)",
      why: "Without Redis there is no service.",
      mend: "See that it runs there and lets this machine in (bind, protected-mode, password, "
        + "firewall): redis-cli -u <the URL> PING")
  }

  /// One master of a cluster.
  private func examine(
    _ master: RedisAddress, of deployment: RedisDeployment, _ shared: RedisFacts
  ) async -> RedisFacts {
    var facts = shared
    facts.subject = "redis \(master)"
    var server = deployment.server
    server.endpoint = master.endpoint
    let client = RedisClient(configuration: server, loop: loop)
    await look(at: client, into: &facts)
    await client.close(atOnce: true)
    return facts
  }

  private func look(at redis: any RedisCaller, into facts: inout RedisFacts) async {
    if let info = try? await redis.call(RedisCommand("INFO")).infoValue() { facts.info = info }
    // By name, since others are secrets.
    let names = [
      "maxmemory", "maxmemory-policy", "appendonly", "appendfsync", "save",
      "client-output-buffer-limit",
    ]
    if let reply = try? await redis.call(RedisCommand("CONFIG", "GET", Spread(names))),
      let pairs = try? reply.fieldsValue()
    {
      facts.settings = Dictionary(
        pairs.map { ($0.0, String(decoding: $0.1, as: UTF8.self)) }, uniquingKeysWith: { $1 })
    }
    await measure(redis, into: &facts)
  }

  private static let roundTrips = 15

  /// Asks for the time now and then: how long that takes, and how the clocks differ. The quickest
  /// answer says that best.
  private func measure(_ redis: any RedisCaller, into facts: inout RedisFacts) async {
    var trips: [(took: Duration, lead: Duration)] = []
    for _ in 0..<Self.roundTrips {
      let (began, wall) = (MonotonicClock.now(), WallClock.now())
      guard let reply = try? await redis.call(RedisCommand("TIME")),
        let words = try? reply.stringsValue(), words.count == 2,
        let seconds = Int64(words[0]), let microseconds = Int64(words[1])
      else { return }
      let took = MonotonicClock.now() - began
      let theirs = UnixTime(wholeSeconds: seconds) + .microseconds(microseconds)
      trips.append((took, wall + took / 2 - theirs))
    }
    trips.sort { $0.took < $1.took }
    facts.roundTrip = trips[trips.count / 2].took
    facts.clockLead = trips[0].lead
  }

  // MARK: The data

  private func dataFacts(_ store: TripStore) async -> DataFacts? {
    var facts = DataFacts(
      supportedVersion: TripStore.dataVersion, configuredPartitions: partitionCount)
    do throws(StoreError) {
      guard let held = try await store.heldVersion() else { return facts }
      (facts.version, facts.partitions) = (held.version, held.partitions)
      // A node that died is on the list until another one strikes it off, but its report is gone.
      facts.nodes = try await store.nodeReports().filter { $0.report != nil }.map(\.node)
      facts.unowned = try await unowned(store)
      if !facts.nodes.isEmpty, !facts.unowned.isEmpty {
        // A partition that changes its node has no owner for a moment.
        try? await loop.sleep(for: .seconds(2))
        facts.unowned = try await unowned(store).filter(Set(facts.unowned).contains)
      }
    } catch {
      // The findings about the server say why.
      return nil
    }
    return facts
  }

  private func unowned(_ store: TripStore) async throws(StoreError) -> [Int] {
    try await store.tenures().enumerated().filter { $0.element.node == nil }.map(\.offset)
  }

  // MARK: APNs

  private func apnsFindings(_ store: TripStore?) async -> [Finding] {
    var findings: [Finding] = []
    for app in apps {
      do {
        findings += try await apnsFacts(app, store).findings
      } catch {
        findings.append(
          Finding(
            .wrong, app.bundleID, "apns", "Nothing can be sent to APNs: \(error)",
            why: "Nothing can be published.", mend: "fieldcast config check says more."))
      }
    }
    return findings
  }

  private func apnsFacts(
    _ app: AppConfiguration, _ store: TripStore?
  ) async throws -> APNsFacts {
    let client = try APNsClient(
      app: try app.atAPNs, hosts: app.hosts,
      credentials: .token(
        ProviderCredentials(
          key: app.key, clock: clock,
          store: store.map { SharedTokens(store: $0, key: app.key, log: .silent) })),
      clock: clock, loop: loop)
    async let warm: Void = client.warmUp()
    let (result, date) = await client.listChannelsDated(deadline: patience)
    let answeredAt = clock.wall
    await warm
    var facts = APNsFacts(
      app: try app.identity.words, host: "\(app.hosts.management)", answer: Self.answer(result),
      pushHost: "\(app.hosts.broadcast)")
    facts.pushProblem = await client.health.broadcasts.connectProblem
    // It has no parts of a second.
    facts.clockLead = date.map { answeredAt - ($0 + .milliseconds(500)) }
    await client.close(grace: .zero)
    return facts
  }

  private static func answer(_ result: ChannelResult<[APNs.ChannelID]>) -> APNsFacts.Answer {
    switch result {
    case .done(let channels): .listed(channels.count)
    case .refused(let refusal):
      switch refusal.disposition {
      case .fixCredentials, .newProviderToken: .notAuthenticated("\(refusal)")
      case .enableBroadcasts: .broadcastsOff("\(refusal)")
      default: .refused("\(refusal)")
      }
    case .malformed(let reply): .refused("\(reply)")
    case .notSent(.credentialsRefused(let refusal)), .unknown(.credentialsRefused(let refusal)):
      .notAuthenticated("\(refusal)")
    case .notSent(let failure), .unknown(let failure): .unreachable("\(failure)")
    }
  }
}
