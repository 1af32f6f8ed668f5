import JSON
import Randomness
import Testing

@Suite struct `A JSON value` {
  @Test func `keeps what bridging would lose`() throws {
    let text =
      #"{"z":12345678901234567890123,"e":1e2,"f":1.0,"neg":-0,"b":true,"n":null,"o":{},"#
      + #""a":[],"":[false,0,1],"p":9007199254740993,"big":1E400}"#
    let value = try JSONValue.parse(text)
    #expect(String(decoding: value.serialized(), as: UTF8.self) == text)
    #expect(value["b"] == true)
    #expect(value["n"] == JSONValue.null)
    #expect(value["missing"] == nil)
    #expect(value["z"]?.int64 == nil)
    #expect(value["p"]?.int64 == 9_007_199_254_740_993)
    #expect(value["f"]?.double == 1)
    #expect(value["big"]?.double == nil)
    #expect(value[""]?[1] == 0)
    #expect(value[""]?[3] == nil)
    #expect(value.object?.keys.prefix(3) == ["z", "e", "f"])
  }

  @Test func `undoes escapes when read and escapes only what it must when written`() throws {
    let text = #""\"\\\/\b\f\n\r\t\u0001\u001f\u00e9\u20AC\ud83d\ude00 é€😀""#
    let value = try JSONValue.parse(text)
    #expect(value == "\"\\/\u{8}\u{c}\n\r\t\u{1}\u{1f}é€😀 é€😀")
    let written = #""\"\\/\b\f\n\r\t\u0001\u001fé€😀 é€😀""#
    #expect(String(decoding: value.serialized(), as: UTF8.self) == written)
  }

  @Test func `round trips whatever is generated`() throws {
    for seed in 1...300 as ClosedRange<UInt64> {
      var generator = SplitMix64(seed: seed)
      let value = randomValue(depth: 0, using: &generator)
      let bytes = value.serialized()
      #expect(try JSONValue.parse(bytes) == value, "seed \(seed)")
      #expect(try JSONValue.parse(bytes).serialized() == bytes, "seed \(seed)")
    }
  }

  @Test func `changes objects in place and keeps their order`() {
    var object: JSONObject = ["b": 1, "a": 2, "b": 3]
    object["c"] = .string("x")
    object["a"] = nil
    object["b"] = 4
    object["missing"] = nil
    #expect(object == ["b": 4, "c": "x"])
    #expect(object != ["c": "x", "b": 4])
    #expect(object.count == 2)
  }

  @Test(arguments: ["0", "-0", "1.50", "1e5", "-12E-3"])
  func `takes numbers by their spelling`(_ literal: String) {
    #expect(JSONNumber(literal)?.literal == literal)
  }

  @Test(arguments: ["", " 1", "1 ", "01", "1.", "true", "\"1\"", "[1]", "inf", "0x1", "-"])
  func `takes nothing else for a number`(_ literal: String) {
    #expect(JSONNumber(literal) == nil)
  }

  @Test func `writes doubles that read back as themselves`() {
    for value in [
      0, 1.85, -1e-7, 1e22, .leastNonzeroMagnitude, .greatestFiniteMagnitude, 0.1 + 0.2,
    ] as [Double] {
      #expect(JSONNumber("\(JSONNumber(value))")?.double == value)
    }
  }

  private func randomValue(depth: Int, using generator: inout SplitMix64) -> JSONValue {
    switch Int.random(in: 0..<(depth < 5 ? 7 : 5), using: &generator) {
    case 0: .null
    case 1: .bool(.random(using: &generator))
    case 2: .number(JSONNumber(Int64.random(in: .min ... .max, using: &generator)))
    case 3: .number(JSONNumber(Double.random(in: -1e9...1e9, using: &generator)))
    case 4: .string(randomString(using: &generator))
    case 5:
      .array(
        (0..<Int.random(in: 0...5, using: &generator)).map { _ in
          randomValue(depth: depth + 1, using: &generator)
        })
    default:
      .object(randomObject(depth: depth, using: &generator))
    }
  }

  private func randomObject(depth: Int, using generator: inout SplitMix64) -> JSONObject {
    var object = JSONObject()
    for _ in 0..<Int.random(in: 0...5, using: &generator) {
      object[randomString(using: &generator)] = randomValue(depth: depth + 1, using: &generator)
    }
    return object
  }

  private func randomString(using generator: inout SplitMix64) -> String {
    let scalars: [Unicode.Scalar] = [
      "\0", "\u{1f}", "\"", "\\", "/", "a", "é", "\u{301}", "€", "😀",
    ]
    var string = String.UnicodeScalarView()
    for _ in 0..<Int.random(in: 0...6, using: &generator) {
      string.append(scalars[Int.random(in: scalars.indices, using: &generator)])
    }
    return String(string)
  }
}
