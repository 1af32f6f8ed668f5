import Clocks
import Redis

/// The Redis server of a simulation: the model, with the ways in which a server fails.
final class RedisServer {
  unowned let world: World
  let rules: Rules
  private(set) var model: ModelRedis
  private(set) var isDown = false
  /// Connections of nodes, dead ones aside.
  private var links: [RedisLink] = []
  /// What the server was, with what the rules knew then, for one that loses its last seconds.
  private var past: [(at: Moment, model: ModelRedis, history: History)] = []
  /// Whether the past is kept at all.
  private let remembers: Bool

  init(in world: World, rules: Rules, remembers: Bool, mutation: Mutation?) {
    self.world = world
    self.rules = rules
    self.remembers = remembers
    model = ModelRedis(microseconds: world.wall.nanoseconds / 1_000, mutation: mutation)
  }

  func connect(_ link: RedisLink) { links.append(link) }
  func disconnect(_ link: RedisLink) { links.removeAll { $0 === link } }

  /// Runs a command as the only one at its moment.
  ///
  /// - Parameter submittedAt: when the node asked for it.
  func execute(_ call: ModelCall, by link: RedisLink, submittedAt: Moment) -> RESPValue {
    model.microseconds = world.wall.nanoseconds / 1_000
    if remembers { remember() }
    let reply = model.run(call)
    world.trace.note(
      world, "redis", mark: call.arguments.count,
      "\(call.label) of \(link.name)\(TraceText.of(call, reply))")
    rules.redisDid(call, reply, model, submittedAt: submittedAt)
    deliver()
    return reply
  }

  private func deliver() {
    guard !model.published.isEmpty else { return }
    for channel in model.published {
      for link in links { link.hear(channel) }
    }
    model.published = []
  }

  private func remember() {
    if let last = past.last, world.now - last.at < .milliseconds(200) { return }
    past.append((world.now, model, rules.history))
    if past.count > 20 { past.removeFirst() }
  }

  // MARK: Faults

  /// Does the first half of a commit, as if it were several commands: the cursor moves.
  func tear(_ call: ModelCall) { model.strings[call.keys[1]] = call.arguments[2] }

  /// Away for a while; then back with all it had acknowledged, or with what it had a little before.
  func goDown(for span: Duration, losing lost: Duration?) {
    guard !isDown else { return }
    isDown = true
    world.trace.note(world, "redis", mark: 11, "is down\(lost.map { ", losing \($0)" } ?? "")")
    for link in links { link.cut(for: .zero) }
    if let lost, let old = past.last(where: { $0.at <= world.now - lost }) {
      model = old.model
      model.published = []
      rules.lostWrites(goingBackTo: old.history)
    }
    past = []
    world.after(span) { [self] in
      isDown = false
      world.trace.note(world, "redis", mark: 12, "is up")
    }
  }
}
