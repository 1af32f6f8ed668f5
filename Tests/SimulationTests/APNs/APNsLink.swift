import APNs
import Clocks
import HTTP

@testable import FieldcastServer

/// One node's way to APNs.
///
/// `@unchecked Sendable` is right because one thread runs the whole simulation.
final class APNsLink: PushService, @unchecked Sendable {
  let name: String
  private unowned let world: World
  private let apns: ModelAPNs
  private let mutation: Mutation?
  private(set) var isDead = false

  init(_ name: String, to apns: ModelAPNs, mutation: Mutation?) {
    self.name = name
    self.apns = apns
    self.mutation = mutation
    world = apns.world
  }

  func die() { isDead = true }

  // MARK: Broadcasts

  /// What becomes of a request: whether and when APNs acts on it, and what its node is told.
  private enum Fate {
    case fine
    case refused(APNsRefusal)
    /// APNs acts on it, or not, and answers with a 500 or nothing at all.
    case doubtful(acts: Bool, answers: Bool)
    /// APNs acts on it long after the node has given up.
    case late
    case unsent
  }

  func broadcast(_ broadcast: Broadcast, deadline: Duration) async -> BroadcastResult {
    await withUnsafeContinuation { continuation in
      send(broadcast, deadline) { continuation.resume(returning: $0) }
    }
  }

  private func send(
    _ broadcast: Broadcast, _ deadline: Duration, _ answer: @escaping (BroadcastResult) -> Void
  ) {
    guard !isDead else { return answer(.notSent(Self.failure(.connectionLost))) }
    let message = Message(broadcast)
    apns.rules.nodeSent(message)
    let fate = fate()
    world.trace.note(
      world, name, mark: message.isEnd ? 31 : 32,
      "sends \(TraceText.of(message)) to \(message.channel): \(fate)")
    let (there, back) = (delay(), delay())
    func act() -> BroadcastResult {
      apns.publish(message)
        ? .accepted(uniqueID: nil, requestID: "")
        : .refused(APNsRefusal(status: 400, reason: .channelNotRegistered))
    }
    switch fate {
    case .fine:
      world.after(there) { [world] in
        let result = act()
        world.after(back) { answer(result) }
      }
    case .refused(let refusal): world.after(there + back) { answer(.refused(refusal)) }
    case .doubtful(let acts, let answers):
      if acts { world.after(there) { _ = act() } }
      if answers {
        let refusal = APNsRefusal(status: 500, reason: .internalServerError)
        world.after(there + back) { answer(.refused(refusal)) }
      } else {
        world.after(deadline) { answer(.unknown(Self.failure(.deadline))) }
      }
      if mutation == .bytesResent { world.after(.seconds(1)) { [self] in resend(message) } }
    case .late:
      world.after(world.span(deadline, deadline + .seconds(20))) { _ = act() }
      world.after(deadline) { answer(.unknown(Self.failure(.deadline))) }
    case .unsent:
      world.after(there) { answer(.notSent(Self.failure(.connectionLost))) }
    }
  }

  /// What a client must not do.
  private func resend(_ message: Message) {
    apns.rules.nodeSent(message)
    _ = apns.publish(message)
  }

  private func fate() -> Fate {
    if apns.isAway {
      return world.chance(0.7) ? .unsent : .doubtful(acts: false, answers: false)
    }
    guard world.chance(world.faults.apns) else { return .fine }
    switch world.number(0...7) {
    case 0, 1: return .refused(APNsRefusal(status: 429, reason: .tooManyRequests))
    case 2: return .refused(APNsRefusal(status: 503, reason: .serviceUnavailable))
    case 3: return .unsent
    case 4: return .late
    default: return .doubtful(acts: world.chance(0.5), answers: world.chance(0.5))
    }
  }

  private func delay() -> Duration {
    if world.chance(world.faults.slowAPNs) { return world.span(.milliseconds(200), .seconds(3)) }
    return world.span(.milliseconds(8), .milliseconds(120))
  }

  private static func failure(_ kind: ExchangeFailure.Kind) -> APNsFailure {
    .exchange(ExchangeFailure(kind, "the simulation says so"))
  }

  // MARK: Channels

  func createChannel(
    storage: ChannelStorage, requestID: String?, deadline: Duration
  ) async -> ChannelResult<APNs.ChannelID> {
    await managed(deadline) { [apns] in
      let channel = apns.create()
      guard let id = APNs.ChannelID(channel) else { preconditionFailure("no ID: \(channel)") }
      return .done(id)
    }
  }

  func deleteChannel(_ channelID: APNs.ChannelID, deadline: Duration) async -> ChannelResult<Void> {
    await managed(deadline) { [apns] in
      if apns.delete(channelID.text) { return .done(()) }
      return .refused(APNsRefusal(status: 400, reason: .channelNotRegistered))
    }
  }

  func listChannels(deadline: Duration) async -> ChannelResult<[APNs.ChannelID]> {
    await managed(deadline) { [apns] in
      .done(apns.channels.keys.sorted().compactMap { APNs.ChannelID($0) })
    }
  }

  private func managed<Value: Sendable>(
    _ deadline: Duration, _ act: @escaping () -> ChannelResult<Value>
  ) async -> ChannelResult<Value> {
    await withUnsafeContinuation { continuation in
      guard !isDead, !apns.isAway else {
        let result = ChannelResult<Value>.notSent(Self.failure(.connectionLost))
        if isDead { return continuation.resume(returning: result) }
        return world.after(delay()) { continuation.resume(returning: result) }
      }
      let back = delay()
      let isLost = world.chance(world.faults.apns / 4)
      let isAnswerLost = world.chance(world.faults.apns / 4)
      world.after(delay()) { [world] in
        if isLost {
          let refusal = APNsRefusal(status: 503, reason: .serviceUnavailable)
          return continuation.resume(returning: .refused(refusal))
        }
        let result = act()
        world.after(isAnswerLost ? deadline : back) {
          continuation.resume(
            returning: isAnswerLost ? .unknown(Self.failure(.deadline)) : result)
        }
      }
    }
  }

  // MARK: Devices

  func push(_ push: Push, to tokens: [DeviceToken], deadline: Duration) async -> [PushResult] {
    tokens.map { _ in .accepted(id: nil, uniqueID: nil) }
  }

  func push(_ items: [AddressedPush], deadline: Duration) async -> [PushResult] {
    items.map { _ in .accepted(id: nil, uniqueID: nil) }
  }
}
