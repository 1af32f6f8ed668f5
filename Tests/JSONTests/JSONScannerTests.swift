import JSON
import Randomness
import Testing

@Suite struct `The JSON scanner` {
  @Test(arguments: [
    "null", "true", "false", "0", "-0", "1", "-12", "1.0", "1e2", "1E+2", "1e-2", "0.5e0",
    "12345678901234567890123", "1E400", "-1e-999", "\"\"", "\"a\"", "[]", "{}", " [ ] ", "\n{\t}\r",
    "[1,2]", "[ 1 , [ 2 ] ]", #"{"":1}"#, #"{"a":{"a":1},"b":[{"a":1},{"a":2}]}"#,
    #""\"\\\/\b\f\n\r\t\u00e9\uD83D\ude00""#, "\"é€😀\u{7f}\u{10ffff}\"", #""\u0000""#,
  ])
  func `accepts`(_ text: String) throws {
    try JSONScanner.validate(Array(text.utf8))
  }

  @Test(arguments: [
    ("", 0), (" ", 1), ("nul", 3), ("nulL", 3), ("True", 0), ("1 2", 2), ("[1,]", 3), ("[,1]", 1),
    ("[1 2]", 3), ("[1", 2), ("[", 1), ("]", 0), ("{", 1), (#"{"a"}"#, 4), (#"{"a":}"#, 5),
    (#"{"a":1,}"#, 7), (#"{a:1}"#, 1), (#"{"a":1 "b":2}"#, 7), (#"{"a":1]"#, 6), ("01", 1),
    ("-", 1), ("-a", 1), ("+1", 0), (".5", 0), ("1.", 2), ("1.e1", 2), ("1e", 2), ("1e+", 3),
    ("0x1", 1), ("NaN", 0), ("-Infinity", 1), ("\"a", 2), ("\"\\", 2), (#""\x""#, 2),
    (#""\u12g4""#, 5), (#""\u12"#, 5), ("'a'", 0), ("\"\n\"", 1), ("\"\0\"", 1), ("\u{feff}1", 0),
    ("// a", 0), ("[1]]", 3), ("-01", 2), ("\u{a0}1", 0), ("1\u{c}", 1),
  ])
  func `refuses broken grammar at the byte where it breaks`(_ text: String, _ offset: Int) {
    let error = failure(of: Array(text.utf8))
    #expect(error?.offset == offset, "\(text)")
    if case .syntax = error?.reason {} else { Issue.record("\(text): \(error as Any)") }
  }

  @Test(
    arguments: [
      [0x80], [0xbf], [0xc0, 0x80], [0xc1, 0xbf], [0xc3], [0xc3, 0x28], [0xe0, 0x9f, 0x80],
      [0xe2, 0x82], [0xe2, 0x28, 0xa1], [0xe2, 0x82, 0x28], [0xed, 0xa0, 0x80], [0xed, 0xbf, 0xbf],
      [0xf0, 0x8f, 0xbf, 0xbf], [0xf0, 0x9f, 0x98], [0xf4, 0x90, 0x80, 0x80],
      [0xf5, 0x80, 0x80, 0x80],
      [0xff], [0xfe],
    ] as [[UInt8]])
  func `refuses invalid UTF-8 at its first byte`(_ sequence: [UInt8]) {
    let inside: [UInt8] = [0x5b, 0x22, 0x61] + sequence + [0x22, 0x5d]
    #expect(failure(of: inside) == JSONError(.invalidUTF8, offset: 3))
    let atTheEnd: [UInt8] = [0x22] + sequence
    #expect(failure(of: atTheEnd) == JSONError(.invalidUTF8, offset: 1))
  }

  @Test func `agrees with the standard library about every short UTF-8 sequence`() {
    var generator = SplitMix64(seed: 7)
    for _ in 0..<20_000 {
      let edges: [UInt8] = [0x7f, 0x80, 0x8f, 0x90, 0x9f, 0xa0, 0xbf, 0xc2, 0xe0, 0xed, 0xf0, 0xf4]
      let sequence = (0..<Int.random(in: 1...5, using: &generator)).map { _ in
        Bool.random(using: &generator)
          ? edges.randomElement(using: &generator)!
          : UInt8.random(in: 0x23...0xff, using: &generator)
      }.filter { $0 != 0x5c }
      let isValid = String(validating: sequence, as: UTF8.self) != nil
      #expect((failure(of: [0x22] + sequence + [0x22]) == nil) == isValid, "\(sequence)")
    }
  }

  @Test(arguments: [
    #"\ud800"#, #"\udc00"#, #"\ud800x"#, #"\ud800\n"#, #"\ud83d\ud83d"#, #"\udfffa"#,
  ])
  func `refuses lone surrogates where their escape begins`(_ escape: String) {
    let error = failure(of: Array("[\"é\(escape)\"]".utf8))
    #expect(error == JSONError(.loneSurrogate, offset: 4))
  }

  @Test func `refuses deep nesting and states the limit`() {
    func nested(_ depth: Int) -> [UInt8] {
      Array((String(repeating: "[", count: depth) + String(repeating: "]", count: depth)).utf8)
    }
    #expect(failure(of: nested(64)) == nil)
    #expect(failure(of: nested(65)) == JSONError(.tooDeep(limit: 64), offset: 64))
    #expect(failure(of: nested(65))?.message.contains("64 levels") == true)
    let objects =
      Array((String(repeating: #"{"a":"#, count: 60) + "1").utf8)
      + Array(repeating: UInt8(ascii: "}"), count: 60)
    #expect(failure(of: objects) == nil)
    #expect(failure(of: [0x5b, 0x5d], JSONLimits(maxDepth: 0))?.offset == 0)
  }

  @Test func `refuses a text over the limit and says by how much`() {
    let text = Array("\"12345678\"".utf8)
    #expect(failure(of: text, JSONLimits(maxBytes: 10)) == nil)
    let error = failure(of: text, JSONLimits(maxBytes: 9))
    #expect(error == JSONError(.tooLarge(bytes: 10, limit: 9), offset: 9))
    #expect(error?.message == "The JSON text has 10 bytes, 1 over the limit of 9.")
  }

  @Test(arguments: [
    (#"{"a":1,"a":2}"#, "a", 7), (#"{"":1,"b":2,"":3}"#, "", 12), (#"{"a":1,"\u0061":2}"#, "a", 7),
    (#"{"\ud83d\ude00":1,"😀":2}"#, "😀", 18), (#"[{"x":{"y":1,"z":[],"y":0}}]"#, "y", 20),
    (#"{"\/":1,"/":2}"#, "/", 8),
  ])
  func `refuses a key that stands twice, and names it`(_ text: String, _ key: String, _ offset: Int)
  {
    let error = failure(of: Array(text.utf8))
    #expect(error == JSONError(.duplicateKey(key), offset: offset))
    #expect(error?.message.contains("\"\(key)\"") == true)
  }

  @Test func `takes canonically equal keys for different ones`() throws {
    let text = Array("{\"\u{e9}\":1,\"e\u{301}\":2}".utf8)
    let value = try JSONValue.parse(text)
    #expect(value["\u{e9}"] == 1)
    #expect(value["e\u{301}"] == 2)
    #expect(value.serialized() == text)
  }

  @Test func `finds duplicates beyond the keys that it keeps inline`() {
    func object(_ keys: [Int]) -> String {
      "{" + keys.map { "\"k\($0)\":{\"k0\":0,\"k1\":[]}" }.joined(separator: ",") + "}"
    }
    #expect(failure(of: Array(object(Array(0..<500)).utf8)) == nil)
    for duplicate in [0, 29, 30, 31, 32, 33, 99] {
      let error = failure(of: Array(object(Array(0..<100) + [duplicate]).utf8))
      #expect(error?.reason == .duplicateKey("k\(duplicate)"))
    }
    let wide = Array(object(Array(0..<5)).utf8)
    #expect(failure(of: wide, JSONLimits(maxMembers: 4))?.reason == .tooManyMembers(limit: 4))
    #expect(failure(of: wide, JSONLimits(maxMembers: 5)) == nil)
  }

  @Test func `survives any change of one byte, and any cut`() {
    let text = Array(#"{"a":[1.5e3,"é\u00e9\ud83d\ude00",null,true],"b":{"c":{},"d":-0}}"#.utf8)
    for index in text.indices {
      for byte in UInt8.min...UInt8.max {
        var changed = text
        changed[index] = byte
        if let error = failure(of: changed) { #expect((0...text.count).contains(error.offset)) }
      }
      #expect(failure(of: Array(text[..<index])) != nil)
    }
  }
}

/// The error of a text that must not pass; nil if it does.
func failure(of bytes: [UInt8], _ limits: JSONLimits = .standard) -> JSONError? {
  do {
    try JSONScanner.validate(bytes, limits: limits)
    return nil
  } catch {
    return error
  }
}
