import Clocks
import TripStore

@testable import Redis

/// One node's connection to Redis, which keeps the order of what is sent over it, until it is lost.
///
/// What was under way then may be done, may be lost, and may be done later; whoever asked is told
/// that nobody knows. As the real client does, it repeats by itself what may be repeated.
///
/// `@unchecked Sendable` is right because one thread runs the whole simulation.
final class RedisLink: RedisCaller, @unchecked Sendable {
  let name: String
  private unowned let world: World
  private let server: RedisServer
  private let mutation: Mutation?
  let ear: BellEar
  private(set) var isDead = false
  private var cutUntil = Moment.distantPast
  /// Counts connections: what was sent over an earlier one is of no order with later ones.
  private var connection = 0
  private var lastArrival = Moment.distantPast
  private var lastAnswer = Moment.distantPast

  init(_ name: String, to server: RedisServer, mutation: Mutation?) {
    self.name = name
    self.server = server
    self.mutation = mutation
    world = server.world
    ear = BellEar(world: server.world)
    server.connect(self)
  }

  var isCluster: Bool { false }

  func call(_ command: RedisCommand, deadline: Duration?) async throws(RedisError) -> RESPValue {
    var batch = RedisBatch()
    batch.append(command)
    return try await callAll(batch, deadline: deadline)[0].get()
  }

  func callAll(_ batch: RedisBatch, deadline: Duration?) async -> [RedisReply] {
    await withUnsafeContinuation { continuation in
      submit(
        Request(ModelCall.all(of: batch), at: world.now) { continuation.resume(returning: $0) })
    }
  }

  // MARK: Faults

  /// The connection is lost; the next one can be had after `span`.
  func cut(for span: Duration) {
    connection += 1
    cutUntil = max(cutUntil, world.now + span)
    lastArrival = world.now
    lastAnswer = world.now
    ear.lost()
  }

  /// Whatever is sent from now on arrives this much later.
  func stall(for span: Duration) { lastArrival = max(lastArrival, world.now + span) }

  /// The node is gone: what it sent may arrive yet, and nobody waits for an answer.
  func die() {
    isDead = true
    server.disconnect(self)
  }

  func hear(_ channel: String) {
    guard !isDead, world.now >= cutUntil else { return }
    world.after(delay()) { [ear] in ear.hear(channel) }
  }

  // MARK: A request's way

  /// Commands that travel together, and who waits for their replies.
  private final class Request {
    let calls: [ModelCall]
    let submittedAt: Moment
    private var finish: (([RedisReply]) -> Void)?

    init(_ calls: [ModelCall], at moment: Moment, _ finish: @escaping ([RedisReply]) -> Void) {
      self.calls = calls
      submittedAt = moment
      self.finish = finish
    }

    var isAnswered: Bool { finish == nil }

    func answer(_ replies: [RedisReply]) {
      let finish = self.finish
      self.finish = nil
      finish?(replies)
    }

    func fail(_ error: RedisError) { answer(calls.map { _ in .failure(error) }) }
  }

  private func submit(_ request: Request) {
    guard !isDead else { return request.fail(.notSent(RedisFailure(.closing, "The node died."))) }
    guard world.now >= cutUntil, !server.isDown else {
      // The real client waits a little for a connection.
      world.after(world.span(.milliseconds(1), .milliseconds(300))) {
        request.fail(.notSent(RedisFailure(.cannotConnect, "Redis cannot be reached.")))
      }
      return
    }
    let arrival = max(lastArrival, world.now + delay())
    lastArrival = arrival
    let sentOver = connection
    world.at(arrival) { [self] in
      if server.isDown || sentOver != connection {
        lose(request)
      } else {
        arrive(request)
      }
    }
    let deadline = request.submittedAt + Self.deadline
    if arrival + .seconds(1) < deadline { return }
    world.at(deadline) {
      request.fail(.unknownOutcome(RedisFailure(.deadline, "Redis did not answer in time.")))
    }
  }

  private func arrive(_ request: Request) {
    if mutation == .commitTorn, request.calls.contains(where: { $0.script == "commit" }),
      world.chance(0.02)
    {
      for call in request.calls { server.tear(call) }
      return request.fail(.unknownOutcome(RedisFailure(.lost, "The connection to Redis was lost.")))
    }
    let replies = request.calls.map { run($0, of: request) }
    let answeredOver = connection
    let moment = max(lastAnswer, world.now + delay())
    lastAnswer = moment
    world.at(moment) { [self] in
      if answeredOver == connection {
        request.answer(replies)
      } else {
        giveUpOrRepeat(request)
      }
    }
  }

  /// The connection was lost with the request on its way.
  private func lose(_ request: Request) {
    let done = world.number(0...request.calls.count)
    switch world.number(0...3) {
    case 0 where !server.isDown:
      for call in request.calls.prefix(done) { run(call, of: request) }
    case 1:
      // Still on its way: it arrives after what was sent over the next connection.
      world.after(world.span(.milliseconds(10), .seconds(8))) { [self] in
        guard !server.isDown else { return }
        for call in request.calls.prefix(done) { run(call, of: request) }
      }
    default: break
    }
    giveUpOrRepeat(request)
  }

  private func giveUpOrRepeat(_ request: Request) {
    guard !request.isAnswered, !isDead else { return }
    if request.calls.allSatisfy(\.isRepeatable), world.chance(0.5) {
      world.after(world.span(.milliseconds(5), .milliseconds(400))) { [self] in
        if !request.isAnswered { submit(request) }
      }
    } else {
      request.fail(.unknownOutcome(RedisFailure(.lost, "The connection to Redis was lost.")))
    }
  }

  @discardableResult
  private func run(_ call: ModelCall, of request: Request) -> RedisReply {
    .success(server.execute(call, by: self, submittedAt: request.submittedAt))
  }

  private func delay() -> Duration {
    if world.chance(world.faults.slowRedis) {
      return world.span(.milliseconds(5), .milliseconds(900))
    }
    return world.span(.microseconds(60), .milliseconds(3))
  }

  /// As the client's configuration has it.
  private static let deadline = Duration.seconds(5)
}

/// What a node hears of the bells of its partitions.
///
/// `@unchecked Sendable` is right because one thread runs the whole simulation.
final class BellEar: ChannelListener, @unchecked Sendable {
  private unowned let world: World
  private var channels: Set<String> = []
  private var waiting: [SubscriberEvent] = []
  private var reader: UnsafeContinuation<[SubscriberEvent]?, Never>?
  private var isClosed = false

  init(world: World) { self.world = world }

  func subscribe(to channels: [String]) async {
    for channel in channels where self.channels.insert(channel).inserted {
      tell(.subscribed(channel: channel))
    }
  }

  func unsubscribe(from channels: [String]) async { self.channels.subtract(channels) }

  func nextBatch() async -> [SubscriberEvent]? {
    await withUnsafeContinuation { continuation in
      if !waiting.isEmpty {
        continuation.resume(returning: waiting)
        waiting = []
      } else if isClosed {
        continuation.resume(returning: nil)
      } else {
        reader = continuation
      }
    }
  }

  func close() async {
    isClosed = true
    reader?.resume(returning: nil)
    reader = nil
  }

  func hear(_ channel: String) {
    if channels.contains(channel) { tell(.message(channel: channel, payload: [])) }
  }

  /// The subscription was lost, and is there again.
  func lost() {
    for channel in channels.sorted() {
      tell(
        .gap(
          SubscriptionGap(channel: channel, from: world.now, until: world.now, reason: "lost")))
    }
  }

  private func tell(_ event: SubscriberEvent) {
    guard !isClosed else { return }
    waiting.append(event)
    guard let reader else { return }
    self.reader = nil
    reader.resume(returning: waiting)
    waiting = []
  }
}
