package import Clocks
package import Transport

/// Knows which server is the primary of a name that Sentinels watch, and says so to whoever makes a
/// connection. All connections leave a primary as soon as the Sentinels have made another.
///
/// It asks all Sentinels that it knows, those of the URL and those that they name, and believes the
/// one that has seen the latest failover: one that was cut off still names the old primary. It
/// hears of a failover by `+switch-master`, and asks now and then besides.
package actor SentinelWatch: RedisLocator {
  package nonisolated var unownedExecutor: UnownedSerialExecutor {
    loop.serial.asUnownedSerialExecutor()
  }

  package nonisolated let loop: EventLoop
  package nonisolated let name: String
  /// How to speak with the primary; its endpoint does not matter.
  package nonisolated let server: RedisConfiguration
  /// Likewise with Sentinels.
  private let sentinel: RedisConfiguration
  /// As they were configured, and never given up.
  private let seeds: [RedisAddress]
  private var others: Set<RedisAddress> = []
  /// As it was last named.
  package private(set) var primary: RedisAddress?
  private var newestEpoch: Int64 = -1
  private var listeners: [@Sendable (RedisAddress) -> Void] = []
  private var subscriber: RedisSubscriber?
  private var life: [Task<Void, Never>] = []
  private var isClosed = false
  /// Counts the Sentinels that were listened to.
  private var turn = Int.random(in: 0..<1_000)
  private let onChange: @Sendable (RedisAddress, RedisAddress) -> Void

  /// - Parameters:
  ///   - sentinel: how to speak with Sentinels; its endpoint does not matter.
  ///   - onChange: hears of each failover, from where to where; called on the loop.
  package init(
    name: String, seeds: [RedisAddress], sentinel: RedisConfiguration, server: RedisConfiguration,
    loop: EventLoop,
    onChange: @escaping @Sendable (RedisAddress, RedisAddress) -> Void = { _, _ in }
  ) {
    self.name = name
    self.seeds = seeds
    self.sentinel = sentinel.forInquiries
    self.server = server
    self.loop = loop
    self.onChange = onChange
  }

  // MARK: Use

  package func locate(before end: Moment) async throws(RedisError) -> RedisConfiguration {
    begin()
    let (answers, failure) = await askAll(before: min(end, loop.now + .seconds(1)))
    guard let newest = answers.max(by: { $0.epoch < $1.epoch }) else {
      throw .notSent(
        RedisFailure(
          .cannotConnect,
          "None of the Sentinels at \(sentinels.map(\.description).joined(separator: ", ")) names "
            + "a primary of \"\(name)\"." + (failure.map { " \($0)" } ?? "")))
    }
    note(newest, isMajority: answers.count * 2 > sentinels.count)
    return server.at(primary ?? newest.primary)
  }

  package func noteWrong(_ configuration: RedisConfiguration) {}

  /// Calls `body` on the loop with each new primary.
  func whenChanged(_ body: @escaping @Sendable (RedisAddress) -> Void) { listeners.append(body) }

  package func close() async {
    isClosed = true
    for task in life { task.cancel() }
    life = []
    await subscriber?.close()
    listeners = []
  }

  // MARK: Asking

  private struct Answer: Sendable {
    let primary: RedisAddress
    /// Rises with each failover.
    let epoch: Int64
    let others: [RedisAddress]
  }

  private var sentinels: [RedisAddress] {
    seeds + others.subtracting(seeds).sorted { "\($0)" < "\($1)" }
  }

  private func askAll(before end: Moment) async -> ([Answer], RedisError?) {
    var failure: RedisError?
    let answers = await withTaskGroup(of: Result<Answer, RedisError>.self) { group in
      for address in sentinels {
        group.addTask {
          do throws(RedisError) {
            return .success(try await self.ask(address, before: end))
          } catch {
            return .failure(error)
          }
        }
      }
      var answers: [Answer] = []
      for await result in group {
        switch result {
        case .success(let answer): answers.append(answer)
        case .failure(let error): failure = error
        }
      }
      return answers
    }
    return (answers, failure)
  }

  private func ask(
    _ address: RedisAddress, before end: Moment
  ) async throws(RedisError) -> Answer {
    let connection = try await RedisConnection.connect(sentinel.at(address), loop: loop)
    var batch = RedisBatch()
    batch.append("SENTINEL", "GET-MASTER-ADDR-BY-NAME", name)
    batch.append("SENTINEL", "MASTER", name)
    batch.append("SENTINEL", "SENTINELS", name)
    let replies = await connection.callAll(batch, before: end)
    await connection.abort()
    let place = try replies[0].get()
    guard case .array(let parts) = place, parts.count == 2 else {
      throw .notSent(
        RedisFailure(
          .cannotConnect, "The Sentinel at \(address) watches no primary named \"\(name)\"."))
    }
    let facts = try replies[1].get().fieldMap()
    var others: [RedisAddress] = []
    for other in (try? replies[2].get().arrayValue()) ?? [] {
      if let other = (try? other.fieldMap()).flatMap(Self.address(in:)) { others.append(other) }
    }
    return Answer(
      primary: RedisAddress(host: try parts[0].stringValue(), port: try parts[1].intValue()),
      epoch: facts["config-epoch"].flatMap { RESPValue.integer(in: $0) } ?? 0, others: others)
  }

  private static func address(in facts: [String: [UInt8]]) -> RedisAddress? {
    guard let host = facts["ip"], let port = facts["port"].flatMap({ RESPValue.integer(in: $0) })
    else { return nil }
    return RedisAddress(host: String(decoding: host, as: UTF8.self), port: Int(port))
  }

  /// - Parameter isMajority: whether most Sentinels were heard. Then the newest answer is right, also
  ///   when it is older than what was known: they were set up anew.
  private func note(_ answer: Answer, isMajority: Bool) {
    // Bounded: a Sentinel that names hundreds of others is not one of this deployment.
    if others.count < 64 { others.formUnion(answer.others) }
    guard answer.epoch >= newestEpoch || isMajority else { return }
    newestEpoch = answer.epoch
    moved(to: answer.primary)
  }

  private func moved(to address: RedisAddress) {
    guard let old = primary else {
      primary = address
      return
    }
    guard old != address, !isClosed else { return }
    primary = address
    onChange(old, address)
    for listener in listeners { listener(address) }
  }

  // MARK: Watching

  private func begin() {
    guard life.isEmpty, !isClosed else { return }
    let subscriber = RedisSubscriber(
      configuration: sentinel, locator: NextSentinel(watch: self), loop: loop)
    self.subscriber = subscriber
    life = [
      Task(executorPreference: loop.tasks) { await self.listen(subscriber) },
      Task(executorPreference: loop.tasks) { await self.askRegularly() },
    ]
  }

  private func listen(_ subscriber: RedisSubscriber) async {
    await subscriber.subscribe(to: [Self.channel])
    while let events = await subscriber.nextBatch(), !isClosed {
      for event in events {
        switch event {
        case .message(_, let payload): heard(payload)
        // What was said before we listened, or while we did not, is asked for.
        case .subscribed, .gap: await look()
        case .refused, .dropped: break
        }
      }
    }
  }

  /// `name old-host old-port new-host new-port`.
  private func heard(_ payload: [UInt8]) {
    let words = String(decoding: payload, as: UTF8.self).split(separator: " ")
    guard words.count == 5, words[0] == name, let port = Int(words[4]) else { return }
    moved(to: RedisAddress(host: String(words[3]), port: port))
  }

  private func askRegularly() async {
    while (try? await loop.sleep(for: Self.interval)) != nil, !isClosed { await look() }
  }

  private func look() async {
    let (answers, _) = await askAll(before: loop.now + .seconds(1))
    guard let newest = answers.max(by: { $0.epoch < $1.epoch }), !isClosed else { return }
    note(newest, isMajority: answers.count * 2 > sentinels.count)
  }

  private static let channel = "+switch-master"
  private static let interval = Duration.seconds(5)

  /// A Sentinel to listen to: another one after each that failed.
  fileprivate func nextSentinel() -> RedisConfiguration {
    let all = sentinels
    turn += 1
    return sentinel.at(all[turn % all.count])
  }
}

private struct NextSentinel: RedisLocator {
  let watch: SentinelWatch

  func locate(before end: Moment) async throws(RedisError) -> RedisConfiguration {
    await watch.nextSentinel()
  }

  package func noteWrong(_ configuration: RedisConfiguration) {}
}
