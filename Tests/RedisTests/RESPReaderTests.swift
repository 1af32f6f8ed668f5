import Testing

@testable import Redis

@Suite struct `The reply reader` {
  private func replies(to text: String) throws -> [RESPValue] {
    let reader = RESPReader()
    reader.feed(Array(text.utf8))
    var values: [RESPValue] = []
    while let value = try reader.next() { values.append(value) }
    return values
  }

  @Test func `reads every kind of value`() throws {
    let text = "+OK\r\n-ERR no\r\n:-42\r\n$3\r\nabc\r\n$0\r\n\r\n$-1\r\n*-1\r\n*0\r\n"
    #expect(
      try replies(to: text) == [
        .simple("OK"), .error(RedisRefusal(text: "ERR no")), .integer(-42),
        .bulk(Array("abc".utf8)), .bulk([]), .null, .null, .array([]),
      ])
  }

  @Test func `reads arrays in arrays`() throws {
    let text = "*2\r\n*2\r\n:1\r\n*0\r\n*3\r\n$1\r\na\r\n$-1\r\n*1\r\n*1\r\n+x\r\n+next\r\n"
    #expect(
      try replies(to: text) == [
        .array([
          .array([.integer(1), .array([])]),
          .array([.bulk([97]), .null, .array([.array([.simple("x")])])]),
        ]),
        .simple("next"),
      ])
  }

  @Test func `does not care how the bytes are cut`() throws {
    let text = "*2\r\n$10\r\nab\r\ncd\r\nef\r\n*2\r\n:7\r\n-NOSCRIPT gone\r\n$-1\r\n+OK\r\n"
    let whole = try replies(to: text)
    for size in 1...7 {
      let reader = RESPReader()
      var values: [RESPValue] = []
      var rest = Array(text.utf8)[...]
      while !rest.isEmpty {
        reader.feed(Array(rest.prefix(size)))
        rest = rest.dropFirst(size)
        while let value = try reader.next() { values.append(value) }
      }
      #expect(values == whole, "cut into pieces of \(size)")
    }
  }

  @Test func `keeps bytes that are not text`() throws {
    let reader = RESPReader()
    let bytes = (0...255).map { UInt8($0) }
    reader.feed(Array("$256\r\n".utf8) + bytes + [13, 10])
    #expect(try reader.next() == .bulk(bytes))
  }

  @Test func `refuses what is not RESP2, and stays refused`() throws {
    let reader = RESPReader()
    reader.feed(Array("%1\r\n+a\r\n+b\r\n".utf8))
    #expect(throws: RESPReader.Violation.self) { try reader.next() }
    reader.feed(Array("+OK\r\n".utf8))
    #expect(throws: RESPReader.Violation.self) { try reader.next() }
  }

  @Test func `refuses a reply over its limit before all of it has come`() throws {
    let reader = RESPReader(maxReplyBytes: 1000)
    reader.feed(Array("$5000\r\n".utf8) + Array(repeating: 65, count: 900))
    #expect(try reader.next() == nil)
    reader.feed(Array(repeating: 65, count: 200))
    #expect(throws: RESPReader.Violation.self) { try reader.next() }
  }

  @Test func `counts the values of an unfinished array against the limit`() throws {
    let reader = RESPReader(maxReplyBytes: 1000)
    var isRefused = false
    reader.feed(Array("*100000\r\n".utf8))
    for _ in 0..<100 where !isRefused {
      reader.feed(Array("$10\r\n0123456789\r\n".utf8))
      do { _ = try reader.next() } catch { isRefused = true }
    }
    #expect(isRefused)
  }
}

@Suite struct `Reading replies` {
  @Test func `takes integers from integers and from strings`() throws {
    #expect(try RESPValue.integer(7).intValue() == 7)
    #expect(try RESPValue.bulk(Array("-12".utf8)).integerValue() == -12)
    #expect(
      try RESPValue.bulk(Array(String(Int64.min).utf8)).integerValue() == Int64.min)
    for text in ["", "-", "1.5", "9223372036854775808", " 1", "0x1"] {
      #expect(throws: RedisError.self) { try RESPValue.bulk(Array(text.utf8)).integerValue() }
    }
  }

  @Test func `makes a map of names and values`() throws {
    let reply = RESPValue.array([
      .bulk(Array("a".utf8)), .bulk([1, 255]), .bulk(Array("b".utf8)), .bulk([]),
    ])
    #expect(try reply.fieldMap() == ["a": [1, 255], "b": []])
    #expect(throws: RedisError.self) { try RESPValue.array([.integer(1)]).fieldMap() }
  }

  @Test func `says what was expected, and never the value`() {
    #expect(
      throws: RedisError.unexpectedReply(
        "The reply should be an array, and is a string of 6 bytes.")
    ) { try RESPValue.bulk(Array("secret".utf8)).arrayValue() }
  }
}

@Suite struct `A refusal` {
  @Test(arguments: [
    ("NOSCRIPT No matching script.", RedisRefusal.Kind.noScript),
    ("READONLY You can't write against a read only replica.", .readOnly),
    ("LOADING Redis is loading the dataset in memory", .loading),
    ("BUSY Redis is busy running a script.", .busy),
    ("BUSYGROUP Consumer Group name already exists", .groupExists),
    ("OOM command not allowed when used memory > 'maxmemory'.", .outOfMemory),
    ("MOVED 3999 127.0.0.1:6381", .moved(slot: 3999, host: "127.0.0.1", port: 6381)),
    ("ASK 12 2001:db8::1:6381", .ask(slot: 12, host: "2001:db8::1", port: 6381)),
    ("MOVED 3999 :6381", .moved(slot: 3999, host: "", port: 6381)),
    ("NOGROUP No such key 'a' or consumer group 'b'", .noGroup),
    ("FENCED 12", .other),
    ("ERR no such key", .other),
  ])
  func `is known by its first word`(text: String, kind: RedisRefusal.Kind) {
    #expect(RedisRefusal(text: text).kind == kind)
  }

  @Test func `keeps a script's own word`() {
    #expect(RedisRefusal(text: "FENCED epoch 4 is over").code == "FENCED")
  }

  @Test func `never repeats the arguments that an old server quotes`() {
    let refusal = RedisRefusal(
      text: "ERR unknown command `HELLO`, with args beginning with: `2`, `AUTH`, `me`, `hunter2`, ")
    #expect(!refusal.description.contains("hunter2"))
    #expect(refusal.description.contains("unknown command"))
  }
}
