import Testing

@testable import Redis

@Suite struct `The command writer` {
  private func text(_ command: RedisCommand) -> String {
    var writer = RESPWriter()
    command.write(to: &writer)
    return String(decoding: writer.bytes, as: UTF8.self)
  }

  @Test func `writes an array of strings`() {
    #expect(
      text(RedisCommand("SET", "key", [0x61, 0x62] as [UInt8], 0, -17))
        == "*5\r\n$3\r\nSET\r\n$3\r\nkey\r\n$2\r\nab\r\n$1\r\n0\r\n$3\r\n-17\r\n")
  }

  @Test(arguments: [0, 9, 10, 99, 100, 12_345, -1, -10, Int.max, Int.min])
  func `writes numbers in decimal`(number: Int) {
    let digits = String(number)
    #expect(
      text(RedisCommand("X", number)) == "*2\r\n$1\r\nX\r\n$\(digits.utf8.count)\r\n\(digits)\r\n")
  }

  @Test func `counts bytes and not characters`() {
    #expect(text(RedisCommand("X", "Grün…")) == "*2\r\n$1\r\nX\r\n$8\r\nGrün…\r\n")
  }

  @Test func `spreads a list, and an empty one to nothing`() {
    #expect(
      text(RedisCommand("DEL", Spread(["a", "b"]), Spread([String]())))
        == "*3\r\n$3\r\nDEL\r\n$1\r\na\r\n$1\r\nb\r\n")
  }

  @Test func `calls a script by its digest once that is known, and in full when asked`() {
    let script = RedisScript(name: "one", source: "return 1")
    let command = RedisCommand(script, keys: ["k"], arguments: "v")
    #expect(text(command).hasPrefix("*5\r\n$4\r\nEVAL\r\n$8\r\nreturn 1\r\n$1\r\n1\r\n"))
    script.remember(digest: "e0e1f9fabfc9d4800c877a703b823ac0578ff8db")
    #expect(text(command).hasPrefix("*5\r\n$7\r\nEVALSHA\r\n$40\r\ne0e1f9fa"))
    var writer = RESPWriter()
    command.write(to: &writer, inFull: true)
    #expect(String(decoding: writer.bytes, as: UTF8.self).hasPrefix("*5\r\n$4\r\nEVAL\r\n"))
  }

  @Test func `writes a batch as its commands behind one another`() {
    let script = RedisScript(name: "one", source: "return 1")
    var batch = RedisBatch([RedisCommand("GET", "a")])
    batch.append("SET", "b", "c")
    batch.append(script, keys: ["k"], arguments: 5)
    var writer = RESPWriter()
    batch.write(to: &writer)
    let expected = [
      text(RedisCommand("GET", "a")), text(RedisCommand("SET", "b", "c")),
      text(RedisCommand(script, keys: ["k"], arguments: 5)),
    ]
    #expect(String(decoding: writer.bytes, as: UTF8.self) == expected.joined())
    writer.removeAll(keepingAtMost: 0)
    batch.selection([2, 0], inFull: true).write(to: &writer)
    #expect(
      String(decoding: writer.bytes, as: UTF8.self) == expected[2] + expected[0])
  }

  @Test func `holds reads to be repeatable, and writes only when told`() {
    #expect(RedisCommand("GET", "a").isRepeatable)
    #expect(!RedisCommand("INCR", "a").isRepeatable)
    #expect(RedisCommand("SET", "a", "b").repeatable().isRepeatable)
    let safe = RedisScript(name: "s", source: "return 1", isSafeToRepeat: true)
    #expect(RedisCommand(safe, keys: []).isRepeatable)
  }
}

@Suite struct `The queue` {
  @Test func `gives back what came first, across growth and wrapping`() {
    var queue = FIFO<Int>()
    var expected: [Int] = []
    var next = 0
    for round in 0..<200 {
      for _ in 0..<(round % 7) {
        queue.append(next)
        expected.append(next)
        next += 1
      }
      for _ in 0..<(round % 5) where !expected.isEmpty {
        #expect(queue.popFirst() == expected.removeFirst())
      }
      #expect(queue.count == expected.count)
      #expect(queue.first == expected.first)
    }
    for (offset, value) in expected.enumerated() { #expect(queue[offset] == value) }
  }
}
