/// Where a command goes in a cluster: to the master of its first key's slot.
///
/// It is read out of the encoded command, so that nobody pays for it who has one server.
extension RedisCommand {
  /// Nil for a command without a key, which any server can carry out.
  package var slot: Int? {
    CommandKey.find(in: body.bytes[...], isScript: script != nil).map { ClusterSlot.of($0) }
  }
}

extension RedisBatch {
  /// The slot of one command; nil when it has no key.
  func slot(of index: Int) -> Int? {
    CommandKey.find(in: encoded(index), isScript: self[index].script != nil)
      .map { ClusterSlot.of($0) }
  }
}

enum CommandKey {
  /// - Parameter bytes: arguments as RESP strings; of a script call, from the number of keys on.
  static func find(in bytes: ArraySlice<UInt8>, isScript: Bool) -> ArraySlice<UInt8>? {
    var arguments = Arguments(rest: bytes)
    guard let first = arguments.next() else { return nil }
    if isScript { return first.elementsEqual("0".utf8) ? nil : arguments.next() }
    switch String(decoding: first, as: UTF8.self) {
    // Of all a cluster's commands with no key, those that are used here. `PUBLISH` reaches all.
    case "ACL", "ASKING", "AUTH", "CLIENT", "CLUSTER", "COMMAND", "CONFIG", "DBSIZE", "DEBUG",
      "ECHO", "FLUSHALL", "FLUSHDB", "HELLO", "INFO", "KEYS", "PING", "PUBLISH", "PUBSUB", "ROLE",
      "SCAN", "SCRIPT", "SHUTDOWN", "TIME", "WAIT":
      return nil
    case "MEMORY", "OBJECT", "XGROUP", "XINFO":
      _ = arguments.next()
      return arguments.next()
    case "XREAD", "XREADGROUP":
      while let word = arguments.next() {
        if word.elementsEqual("STREAMS".utf8) { return arguments.next() }
      }
      return nil
    default: return arguments.next()
    }
  }

  /// Reads `$3\r\nGET\r\n…` string by string.
  private struct Arguments {
    var rest: ArraySlice<UInt8>

    mutating func next() -> ArraySlice<UInt8>? {
      guard rest.popFirst() == UInt8(ascii: "$") else { return nil }
      var length = 0
      while let byte = rest.popFirst(), byte != UInt8(ascii: "\r") {
        length = length * 10 + Int(byte &- UInt8(ascii: "0"))
      }
      let start = rest.startIndex + 1
      guard start + length + 2 <= rest.endIndex else { return nil }
      let argument = rest[start..<(start + length)]
      rest = rest[(start + length + 2)...]
      return argument
    }
  }
}
