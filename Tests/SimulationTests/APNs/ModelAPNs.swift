import APNs
import Clocks
import FieldTrips
import JSON

/// A broadcast as it reached APNs.
struct Message {
  let channel: String
  let priority: Int
  let isEnd: Bool
  let timestampSeconds: Int64
  let contentState: Bytes

  init(_ broadcast: Broadcast) {
    channel = broadcast.channelID.text
    priority = Int(broadcast.priority.rawValue)
    let aps = (try? JSONValue.parse(broadcast.payload))?["aps"]
    isEnd = aps?["event"]?.string == "end"
    timestampSeconds = aps?["timestamp"]?.int64 ?? -1
    contentState = Message.bytes(of: "content-state", in: broadcast.payload)
  }

  /// The member's value byte for byte; it is an object, whose strings hold no braces here.
  private static func bytes(of name: String, in payload: Bytes) -> Bytes {
    let key = Bytes("\"\(name)\":".utf8)
    guard let start = payload.indices.first(where: { payload[$0...].starts(with: key) }) else {
      return []
    }
    var depth = 0
    for index in (start + key.count)..<payload.count {
      if payload[index] == UInt8(ascii: "{") { depth += 1 }
      if payload[index] == UInt8(ascii: "}") { depth -= 1 }
      if depth == 0 { return Bytes(payload[(start + key.count)...index]) }
    }
    return []
  }
}

/// APNs: channels, what was published on them, and the phones that listen.
final class ModelAPNs {
  unowned let world: World
  let rules: Rules
  let phones: Phones
  /// Each with the newest message, if it keeps one.
  private(set) var channels: [String: Message?] = [:]
  private(set) var isAway = false
  private var lastChannel = 0

  init(in world: World, rules: Rules, phones: Phones) {
    self.world = world
    self.rules = rules
    self.phones = phones
  }

  func create() -> String {
    lastChannel += 1
    let channel = "channel\(lastChannel)"
    channels[channel] = .some(nil)
    world.trace.note(world, "apns", mark: 21, "creates \(channel)")
    return channel
  }

  /// - Returns: false when there is no such channel.
  func delete(_ channel: String) -> Bool {
    world.trace.note(world, "apns", mark: 22, "deletes \(channel)")
    return channels.removeValue(forKey: channel) != nil
  }

  /// Publishes, for good.
  ///
  /// - Returns: false when there is no such channel.
  func publish(_ message: Message) -> Bool {
    guard let kept = channels[message.channel] else { return false }
    world.trace.note(
      world, "apns", mark: 23,
      "publishes \(TraceText.of(message)) on \(message.channel)")
    if kept == nil || kept!.timestampSeconds < message.timestampSeconds {
      channels[message.channel] = message
    }
    rules.apnsAccepted(message)
    phones.receive(message)
    return true
  }

  // MARK: Faults

  func goAway(for span: Duration) {
    isAway = true
    world.trace.note(world, "apns", mark: 24, "is away")
    world.after(span) { [self] in
      isAway = false
      world.trace.note(world, "apns", mark: 25, "is back")
    }
  }

  /// A channel is lost, as after a change of the app's settings at Apple.
  func lose(_ channel: String) {
    world.trace.note(world, "apns", mark: 26, "loses \(channel)")
    channels[channel] = nil
  }
}
