import APNs
import APNsSimulator
import Clocks
import JSON
import Transport

/// One of those who use the engine at once: it does what its seed says, one thing after the other.
struct SoakCaller {
  /// What all callers share.
  struct Shared: Sendable {
    let client: APNsClient
    let ledger: SoakLedger
    let clock: ServiceClock
    let tokens: [APNs.DeviceToken]
    let channels: [APNs.ChannelID]
    let alert: PushOptions
    let quiet: PushOptions
    let settings: SoakSettings
  }

  let shared: Shared
  var random: SeededRandom
  /// Pushes and broadcasts that are still to be made.
  var left: Int
  private var channel: (id: APNs.ChannelID, storage: ChannelStorage)?

  init(_ shared: Shared, seed: UInt64, requests: Int) {
    self.shared = shared
    random = SeededRandom(seed: seed)
    left = requests
  }

  mutating func run() async throws {
    while left > 0 {
      switch random.next() % 100 {
      case 0..<55: try await push(isCancelled: false)
      case 55..<60: try await push(isCancelled: shared.settings.isRough)
      case 60..<67: try await batch(isCancelled: false)
      case 67..<68: try await batch(isCancelled: shared.settings.isRough)
      case 68..<90: try await broadcast()
      default: await manageChannel()
      }
    }
  }

  private mutating func push(isCancelled: Bool) async throws {
    left -= 1
    let (id, token) = (random.uuid(), pick(shared.tokens))
    let push = Push(options(), payload: payload())
    let deadline = deadline(.milliseconds(100)...(.seconds(2)))
    let call = shared.ledger.begin("push \(id)", deadline: deadline)
    let client = shared.client
    let result = try await perform(cancelled: isCancelled) {
      await client.push(push, to: token, id: id, deadline: deadline)
    }
    shared.ledger.end(call, [(id, SoakOutcome(result))])
  }

  private mutating func batch(isCancelled: Bool) async throws {
    let size = min(left, Int(random.next() % 400) + 1)
    left -= size
    let push = Push(options(), payload: payload())
    var items: [AddressedPush] = []
    for _ in 0..<size {
      items.append(AddressedPush(push, to: pick(shared.tokens), id: random.uuid()))
    }
    let deadline = deadline(.milliseconds(500)...(.seconds(4)))
    let call = shared.ledger.begin("batch of \(size)", deadline: deadline)
    let (client, all) = (shared.client, items)
    let results = try await perform(cancelled: isCancelled) {
      await client.push(all, deadline: deadline)
    }
    if results.count != size {
      shared.ledger.fail("a batch of \(size) has \(results.count) results")
    }
    shared.ledger.end(call, zip(all, results).map { ($0.id ?? "", SoakOutcome($1)) })
  }

  private mutating func broadcast() async throws {
    left -= 1
    let (id, channel) = (random.uuid(), pick(shared.channels))
    let payload =
      #"{"aps":{"timestamp":\#(shared.clock.wall.wholeSeconds),"event":"update","#
      + #""content-state":{"notesCaptured":\#(random.next() % 1_000)}}}"#
    let broadcast = Broadcast(
      to: channel, storage: .none, priority: random.next() % 2 == 0 ? .immediate : .considerate,
      payload: Array(payload.utf8), requestID: id)
    let deadline = deadline(.milliseconds(100)...(.seconds(2)))
    let call = shared.ledger.begin("broadcast \(id)", deadline: deadline)
    let result = await shared.client.broadcast(broadcast, deadline: deadline)
    shared.ledger.end(call, [(id, SoakOutcome(result))])
  }

  /// Makes a channel, or looks at the one it has, or deletes it.
  private mutating func manageChannel() async {
    let (ledger, deadline) = (shared.ledger, deadline(.milliseconds(500)...(.seconds(2))))
    guard let (id, storage) = channel else { return await createChannel(deadline) }
    if random.next() % 2 == 0 {
      let call = ledger.begin("read of a channel", deadline: deadline)
      let result = await shared.client.readChannel(id, deadline: deadline)
      ledger.end(call, [])
      if case .done(let found) = result, found != storage {
        ledger.fail("channel \(id) was made with \(storage) and has \(found)")
      }
      if case .refused(let refusal) = result, refusal.reason == .channelNotRegistered {
        ledger.fail("channel \(id) is gone, and nobody deleted it")
      }
    } else {
      let call = ledger.begin("deletion of a channel", deadline: deadline)
      let result = await shared.client.deleteChannel(id, deadline: deadline)
      ledger.end(call, [])
      switch result {
      // Whether it is still there is known only in the other cases.
      case .done, .malformed, .unknown: channel = nil
      case .refused, .notSent: break
      }
    }
  }

  private mutating func createChannel(_ deadline: Duration) async {
    let (id, storage) = (random.uuid(), random.next() % 2 == 0 ? .none : ChannelStorage.mostRecent)
    let call = shared.ledger.begin("creation of a channel \(id)", deadline: deadline)
    let result = await shared.client.createChannel(
      storage: storage, requestID: id, deadline: deadline)
    shared.ledger.end(call, [(id, SoakOutcome(result))])
    if case .done(let made) = result { channel = (made, storage) }
  }

  /// Waits for a result, of a task that is cancelled meanwhile where that is wanted.
  private mutating func perform<Result: Sendable>(
    cancelled: Bool, _ body: @escaping @Sendable () async -> Result
  ) async throws -> Result {
    guard cancelled else { return await body() }
    let delay = Duration.microseconds(Int64(random.next() % 40_000))
    let task = Task { await body() }
    try await shared.client.loop.sleep(for: delay)
    task.cancel()
    return await task.value
  }

  private mutating func pick<Element>(_ elements: [Element]) -> Element {
    elements[Int(random.next() % UInt64(elements.count))]
  }

  private mutating func options() -> PushOptions {
    random.next() % 3 == 0 ? shared.quiet : shared.alert
  }

  private mutating func payload() -> [UInt8] {
    let text = String(repeating: "x", count: Int(random.next() % 1_000))
    return Array(#"{"aps":{"alert":"\#(text)"}}"#.utf8)
  }

  private mutating func deadline(_ range: ClosedRange<Duration>) -> Duration {
    let span = (range.upperBound - range.lowerBound).wholeNanoseconds
    let usual = range.lowerBound + .nanoseconds(Int64(random.fraction() * Double(span)))
    return usual * shared.settings.leniency
  }
}
