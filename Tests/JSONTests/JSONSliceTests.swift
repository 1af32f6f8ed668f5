import JSON
import Testing

@Suite struct `A JSON text` {
  let text =
    #" { "id" : "n\u00b0 1" , "trip":[1, {"k":"]}"}, "\"", [] ],"m\/n":null,"t":true , "x":-1.5e3} "#

  @Test func `keeps its bytes`() throws {
    #expect(try JSONText(validating: Array(text.utf8)).bytes == Array(text.utf8))
  }

  @Test func `is walked member by member without reading values`() throws {
    let root = try JSONText(validating: Array(text.utf8)).root
    #expect(root.kind == .object)
    #expect(root.members.map { $0.key } == ["id", "trip", "m/n", "t", "x"])
    #expect(root.members.map { $0.value.kind } == [.string, .array, .null, .bool, .number])
    #expect(root["id"]?.string == "n° 1")
    #expect(root["t"]?.bool == true)
    #expect(root["x"]?.number?.double == -1_500)
    #expect(root["m/n"]?.kind == .null)
    #expect(root["nothing"] == nil)
    #expect(root["id"]?["id"] == nil)
    let trip = try #require(root["trip"])
    #expect(
      trip.elements.map { String(decoding: $0.text.bytes, as: UTF8.self) }
        == ["1", #"{"k":"]}"}"#, #""\"""#, "[]"])
    #expect(trip.members.map { $0.key } == [])
    #expect(trip.value == [1, ["k": "]}"], "\"", []])
  }

  @Test func `gives ranges of its own bytes`() throws {
    let bytes = Array(#"{"a":[10 ],"b":"c" }"#.utf8)
    let root = try JSONText(validating: bytes).root
    let members = Array(root.members)
    #expect(members.map { $0.keyRange } == [1..<4, 11..<14])
    #expect(members.map { $0.value.range } == [5..<10, 15..<18])
    #expect(root.range == 0..<bytes.count)
  }

  @Test(arguments: ["1", " 1 ", "\"\"", "{}", "[ ]", "null", " -0e1\n"])
  func `has a root of any kind`(_ text: String) throws {
    let root = try JSONText(validating: Array(text.utf8)).root
    let trimmed = text.filter { !$0.isWhitespace || root.kind == .array }
    #expect(String(decoding: root.text.bytes, as: UTF8.self) == trimmed)
    #expect(Array(root.members).isEmpty && Array(root.elements).isEmpty)
  }
}

@Suite struct `The JSON writer` {
  @Test func `puts commas where they belong and texts in as they are`() throws {
    let state = try JSONText(validating: Array(#"{ "n": 1.0 }"#.utf8))
    var writer = JSONWriter()
    writer.object {
      $0.member("timestamp", 17)
      $0.key("aps")
      $0.object {
        $0.member("content-state", state)
        $0.member("event", "end")
        $0.member("soft", true)
        $0.member("x", JSONValue.null)
        $0.key("list")
        $0.array {
          $0.int(UInt8(1))
          $0.array { _ in }
          $0.object { _ in }
          $0.string("é\n")
          $0.double(0.5)
          $0.bool(false)
          $0.raw(state.root["n"]!)
        }
      }
      $0.member("last", -1)
    }
    let expected =
      #"{"timestamp":17,"aps":{"content-state":{ "n": 1.0 },"event":"end","soft":true,"#
      + #""x":null,"list":[1,[],{},"é\n",0.5,false,1.0]},"last":-1}"#
    let bytes = writer.finish()
    #expect(String(decoding: bytes, as: UTF8.self) == expected)
    try JSONScanner.validate(bytes)
  }

  @Test func `escapes every control character readably`() throws {
    let controls = String(String.UnicodeScalarView((0..<0x20).compactMap { Unicode.Scalar($0) }))
    var writer = JSONWriter()
    writer.string(controls)
    #expect(try JSONValue.parse(writer.finish()) == .string(controls))
  }
}
