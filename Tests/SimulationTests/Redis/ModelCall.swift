@testable import Redis

/// A command as a server reads it.
struct ModelCall {
  /// Of a script call.
  let script: String?
  /// Whether it may be sent again when nobody knows if it was done.
  let isRepeatable: Bool
  /// Of a script its keys; of another command nothing.
  let keys: [String]
  /// Of a script what follows its keys; of another command all of it, its name first.
  let arguments: [Bytes]

  /// For people.
  var label: String { script ?? text(0) }

  func text(_ index: Int) -> String { String(decoding: arguments[index], as: UTF8.self) }
  func number(_ index: Int) -> Int64 { RESPValue.integer(in: arguments[index]) ?? 0 }
}

extension ModelCall {
  init(_ command: RedisCommand) {
    var batch = RedisBatch()
    batch.append(command)
    self = Self.all(of: batch)[0]
  }

  /// Reads a batch from the bytes that would go to a server.
  static func all(of batch: RedisBatch) -> [ModelCall] {
    var writer = RESPWriter()
    batch.write(to: &writer)
    let bytes = writer.bytes
    var position = 0
    return (0..<batch.count).map { index in
      let entry = batch[index]
      var count = line(bytes, &position)
      if let script = entry.script {
        // EVAL or EVALSHA, and the source or its digest.
        for _ in 0..<2 { skip(bytes, &position) }
        let keyCount = Int(RESPValue.integer(in: string(bytes, &position)) ?? 0)
        let keys = (0..<keyCount).map { _ in
          String(decoding: string(bytes, &position), as: UTF8.self)
        }
        count -= 3 + keyCount
        return ModelCall(
          script: script.name, isRepeatable: entry.isRepeatable, keys: keys,
          arguments: (0..<count).map { _ in string(bytes, &position) })
      }
      let arguments = (0..<count).map { _ in string(bytes, &position) }
      return ModelCall(
        script: nil, isRepeatable: entry.isRepeatable, keys: [], arguments: arguments)
    }
  }

  /// The number of a line such as `*3` or `$12`.
  private static func line(_ bytes: Bytes, _ position: inout Int) -> Int {
    position += 1
    var number = 0
    while bytes[position] != UInt8(ascii: "\r") {
      number = number * 10 + Int(bytes[position] - UInt8(ascii: "0"))
      position += 1
    }
    position += 2
    return number
  }

  private static func string(_ bytes: Bytes, _ position: inout Int) -> Bytes {
    let count = line(bytes, &position)
    defer { position += count + 2 }
    return Bytes(bytes[position..<position + count])
  }

  private static func skip(_ bytes: Bytes, _ position: inout Int) {
    let count = line(bytes, &position)
    position += count + 2
  }
}

extension RESPValue {
  static func text(_ text: String) -> RESPValue { .bulk(Bytes(text.utf8)) }
  static func number(_ number: Int) -> RESPValue { .integer(Int64(number)) }
  static func optional(_ bytes: Bytes?) -> RESPValue { bytes.map(RESPValue.bulk) ?? .null }
}
