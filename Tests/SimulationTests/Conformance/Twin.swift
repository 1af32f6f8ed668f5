import Clocks
import Redis
import Synchronization
import Testing
import Transport
import TripStore

/// Passes each call to a real server and to the model, and holds their replies together.
///
/// The caller gets the real one's. What a server's clock makes, log IDs and epochs, differs between
/// the two by milliseconds; each of the real server's stands for the one of the model that came in
/// its place.
final class Twin: RedisCaller {
  private struct State {
    var model: ModelRedis
    var models: [String: String] = [:]
    var reals: [String: String] = [:]
    var counts: [String: Int] = [:]
    var isFirst = true
  }

  private let client: RedisClient
  private let state: Mutex<State>

  init(_ client: RedisClient) {
    self.client = client
    state = Mutex(State(model: ModelRedis(microseconds: 0)))
  }

  /// How often each script or command was compared.
  var counts: [String: Int] { state.withLock { $0.counts } }

  var isCluster: Bool { false }

  func call(_ command: RedisCommand, deadline: Duration?) async throws(RedisError) -> RESPValue {
    var batch = RedisBatch()
    batch.append(command)
    return try await callAll(batch, deadline: deadline)[0].get()
  }

  func callAll(_ batch: RedisBatch, deadline: Duration?) async -> [RedisReply] {
    let replies = await client.callAll(batch, deadline: deadline)
    let problems = state.withLock { state in
      zip(ModelCall.all(of: batch), replies).compactMap { Self.compare($0, $1, &state) }
    }
    // What follows the first difference says nothing more.
    if let problem = problems.first, state.withLock({ $0.isFirst }) {
      state.withLock { $0.isFirst = false }
      Issue.record("\(problem)")
    }
    return replies
  }

  private static func compare(
    _ call: ModelCall, _ reply: RedisReply, _ state: inout State
  ) -> String? {
    state.counts[call.label, default: 0] += 1
    guard case .success(let real) = reply else { return "\(call.label): \(reply)" }
    state.model.microseconds = WallClock.now().nanoseconds / 1_000
    let translated = ModelCall(
      script: call.script, isRepeatable: call.isRepeatable, keys: call.keys,
      arguments: call.arguments.map { translate($0, state) })
    let model = state.model.run(translated)
    state.model.published = []
    guard agree(sorted(real, of: call), sorted(model, of: call), &state) else {
      return
        "\(call.label): the server says \(TraceText.of(real)), the model \(TraceText.of(model))"
    }
    return nil
  }

  /// What a call has of the real server's making, as the model's.
  private static func translate(_ argument: Bytes, _ state: State) -> Bytes {
    guard argument.count < 40, let text = String(validating: argument, as: UTF8.self) else {
      return argument
    }
    if text.hasPrefix("("), let model = state.models[String(text.dropFirst())] {
      return Bytes("(\(model)".utf8)
    }
    return state.models[text].map { Bytes($0.utf8) } ?? argument
  }

  /// Replies without an order of their own are put into one.
  private static func sorted(_ reply: RESPValue, of call: ModelCall) -> RESPValue {
    guard case .array(let values) = reply else { return reply }
    switch call.label {
    case "HGETALL":
      let pairs = stride(from: 0, to: values.count, by: 2).map { (values[$0], values[$0 + 1]) }
      return .array(
        pairs.sorted { "\($0.0)" < "\($1.0)" }.flatMap { [$0.0, $0.1] })
    case "SMEMBERS", "heartbeat": return .array(values.sorted { "\($0)" < "\($1)" })
    // The rest of a lease is a matter of milliseconds.
    case "takeLease" where values.first == .integer(0): return .array(Array(values.prefix(2)))
    default: return reply
    }
  }

  private static func agree(_ real: RESPValue, _ model: RESPValue, _ state: inout State) -> Bool {
    switch (real, model) {
    case (.array(let left), .array(let right)):
      guard left.count == right.count else { return false }
      for (one, other) in zip(left, right) where !agree(one, other, &state) { return false }
      return true
    case (.bulk(let left), .bulk(let right)):
      if left == right, !isOfClock(left) { return true }
      return match(
        String(decoding: left, as: UTF8.self), String(decoding: right, as: UTF8.self), &state)
    case (.integer(let left), .integer(let right)):
      return left < clockNumbers ? left == right : match("\(left)", "\(right)", &state)
    default: return real == model
    }
  }

  /// Times of the calls are years before those of the servers' clocks.
  private static let clockNumbers: Int64 = 1_750_000_000_000

  private static func isOfClock(_ bytes: Bytes) -> Bool {
    let number = RESPValue.integer(in: Bytes(bytes.prefix { $0 != UInt8(ascii: "-") }))
    return number.map { $0 >= clockNumbers && bytes.count <= 24 } ?? false
  }

  private static func match(_ real: String, _ model: String, _ state: inout State) -> Bool {
    guard isOfClock(Bytes(real.utf8)), isOfClock(Bytes(model.utf8)) else { return real == model }
    if let known = state.models[real] { return known == model }
    if state.reals[model] != nil { return false }
    state.models[real] = model
    state.reals[model] = real
    return true
  }
}
