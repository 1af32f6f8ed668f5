import FieldTrips
import Testing

@Suite struct `A trip ID` {
  let text = "0c9d3a52-6a0e-4d4b-9f3e-0a5b6c7d8e9f"

  @Test func `is read in either case and written in lower case`() throws {
    let id = try TripID(text.uppercased())
    #expect(id.text == text)
    #expect(try id == TripID(text))
  }

  @Test(arguments: [
    "", "0c9d3a52", "0c9d3a526a0e4d4b9f3e0a5b6c7d8e9f",
    "0c9d3a52-6a0e-4d4b-9f3e-0a5b6c7d8e9", "0c9d3a52-6a0e-4d4b-9f3e-0a5b6c7d8e9f0",
    "0c9d3a52-6a0e-4d4b-9f3e-0a5b6c7d8e9g", "0c9d3a5-26a0e-4d4b-9f3e-0a5b6c7d8e9f",
    "{0c9d3a52-6a0e-4d4b-9f3e-0a5b6c7d8e9f}", "0c9d3a52-6a0e-4d4b-9f3e-0a5b6c7d8e９f",
  ])
  func `refuses what is no UUID`(text: String) {
    #expect(throws: IdentifierError.self) { try TripID(text) }
  }

  @Test func `is a version 4 UUID when made from random bytes`() {
    #expect(TripID(randomBytes: .init(repeating: 0xFF)).text.hasPrefix("ffffffff-ffff-4fff-bfff"))
    #expect(TripID(randomBytes: .init(repeating: 0)).text == "00000000-0000-4000-8000-000000000000")
  }

  @Test func `survives writing and reading`() throws {
    var dice = TripDice(seed: 1)
    for _ in 0..<1_000 {
      let id = TripID(using: &dice)
      #expect(try TripID(id.text) == id)
    }
  }

  @Test func `quotes a stranger's text with care`() throws {
    let error = #expect(throws: IdentifierError.self) { try TripID("\u{7}\u{202E}abc") }
    #expect(error?.message.hasPrefix("\"<U+0007><U+202E>abc\" is not a trip ID") == true)
  }
}

@Suite struct `A partition` {
  @Test func `never changes for a trip`() throws {
    // Vectors made once with an independent FNV-1a: a change would lose trips in Redis.
    #expect(try TripID("00000000-0000-0000-0000-000000000000").partition.number == 220)
    #expect(try TripID("0c9d3a52-6a0e-4d4b-9f3e-0a5b6c7d8e9f").partition.number == 84)
    #expect(try TripID("ffffffff-ffff-4fff-bfff-ffffffffffff").partition.number == 201)
  }

  @Test func `holds about its share of the trips`() {
    var dice = TripDice(seed: 2)
    var counts = Array(repeating: 0, count: Partition.defaultCount)
    for _ in 0..<25_600 { counts[TripID(using: &dice).partition.number] += 1 }
    // A hundred expected; six standard deviations either way.
    #expect(counts.allSatisfy { (40...160).contains($0) })
  }

  @Test func `is written with three digits`() {
    #expect(Partition(number: 7).description == "p007")
    #expect(Partition(number: 4_095).description == "p4095")
  }
}

@Suite struct `A caller's ID` {
  @Test(arguments: ["n-1", "märz 2026", "山", String(repeating: "x", count: 128)])
  func `may be any printable text up to 128 bytes`(text: String) throws {
    #expect(try TriggerID(text).text == text)
    #expect(try MemberID(text).description == text)
  }

  @Test(arguments: [
    ("", "The trigger ID is empty: expected 1 to 128 bytes."),
    (String(repeating: "é", count: 65), "The trigger ID has 130 bytes, over the limit of 128."),
    ("a\nb", "The trigger ID contains U+000A, which is not printable."),
    ("a\u{200B}b", "The trigger ID contains U+200B, which is not printable."),
    ("a\u{00A0}b", "The trigger ID contains U+00A0, which is not printable."),
    (" a", "The trigger ID begins or ends with a space."),
  ])
  func `says why it refuses`(text: String, message: String) {
    let error = #expect(throws: IdentifierError.self) { try TriggerID(text) }
    #expect(error?.message == message)
  }

  @Test func `is told apart byte by byte, as Redis does`() throws {
    let composed = try MemberID("caf\u{E9}")
    let decomposed = try MemberID("cafe\u{301}")
    #expect(composed.text == decomposed.text)
    #expect(composed != decomposed)
    #expect(Set([composed, decomposed]).count == 2)
    #expect((composed < decomposed) != (decomposed < composed))
  }
}

@Suite struct `A channel ID` {
  @Test func `shows only its beginning in a description`() throws {
    let id = try ChannelID("dHN0LXNyY2gtY2hubA==")
    #expect("\(id)" == "dHN0LX…")
  }

  @Test(arguments: ["", "a b", "ä", String(repeating: "A", count: 257)])
  func `must be base64`(text: String) {
    #expect(throws: IdentifierError.self) { try ChannelID(text) }
  }
}
