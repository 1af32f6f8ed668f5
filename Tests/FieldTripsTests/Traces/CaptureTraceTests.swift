import Testing

@testable import FieldTrips

@Suite struct `The trace format` {
  private func parse(_ text: String) throws -> CaptureTrace {
    try CaptureTrace.parse(csv: Array(text.utf8), name: "walk")
  }

  private func expectError(
    _ message: String, in text: String, sourceLocation: SourceLocation = #_sourceLocation
  ) {
    let error = #expect(throws: TraceError.self, sourceLocation: sourceLocation) {
      try parse(text)
    }
    #expect(error?.description == message, sourceLocation: sourceLocation)
  }

  @Test func `reads captures in file order`() throws {
    let trace = try parse(
      "offset_s,observer,place\n0,o1,Place 1\n20,o2,\"Green, by the pond\"\n20.5,o1,St. Andrä\n")
    #expect(trace.captures.map(\.offsetSeconds) == [0, 20, 20.5])
    #expect(trace.captures.map(\.observer) == ["o1", "o2", "o1"])
    #expect(trace.captures.map(\.place) == ["Place 1", "Green, by the pond", "St. Andrä"])
    #expect(trace.durationSeconds == 20.5)
  }

  @Test func `writes what it reads, byte for byte`() throws {
    let text = "offset_s,observer,place\n0,o1,Place 1\n7.25,o2,\"The \"\"Rocks\"\", west\"\n"
    #expect(try parse(text).csv() == text)
  }

  @Test func `accepts the line ends and the mark that spreadsheets write`() throws {
    let trace = try parse("\u{FEFF}offset_s,observer,place\r\n0,o1,Pond\r\n3,o1,Pond")
    #expect(trace.captures.count == 2)
    #expect(trace.captures[0].place == "Pond")
  }

  @Test func `names the line and what is wrong with it`() {
    let header = "offset_s,observer,place\n"
    expectError(
      "Line 3: expected 3 fields (offset_s, observer, place), found 2.",
      in: header + "0,o1,P\n5,o1\n")
    expectError(
      "Line 2: the offset \"-3\" is no number of seconds (like 75 or 75.5, at most 10000000).",
      in: header + "-3,o1,P\n")
    expectError(
      "Line 3: the offset 4 is less than the one before it; sort the rows by time.",
      in: header + "5,o1,P\n4,o1,P\n")
    expectError("Line 2: the observer is empty.", in: header + "0,,P\n")
    expectError(
      "Line 4: a quoted field opens here and is never closed.",
      in: header + "0,o1,\"two\nlines\"\n1,o1,\"P\n")
    expectError(
      "Line 2: text follows the closing quotation mark of a field.", in: header + "0,o1,\"P\"x\n")
    expectError(
      "Line 2: a quotation mark stands inside an unquoted field; quote the whole field.",
      in: header + "0,o1,P\"x\"\n")
  }

  @Test(arguments: ["1e3", "0x10", "+1", " 1", "1.", ".5", "nan", "inf", "", "10000001", "1.2.3"])
  func `takes only plain numbers as times`(offset: String) {
    #expect(throws: TraceError.self) {
      try parse("offset_s,observer,place\n\(offset),o1,P\n")
    }
  }

  @Test func `refuses bytes that are no UTF-8`() {
    let bytes = Array("offset_s,observer,place\n0,o1,".utf8) + [0xC3, 0x28, 0x0A]
    #expect(throws: TraceError.malformed(line: 2, "the text is not UTF-8")) {
      try CaptureTrace.parse(csv: bytes, name: "walk")
    }
  }

  @Test func `asks for its columns by name`() {
    expectError(
      "Line 1: the columns are missing: offset_s, observer. Found: time, place.",
      in: "time,place\n1,P\n")
    expectError(
      "Line 1: the columns are missing: offset_s, observer, place. Found: none.", in: "")
    expectError(
      "Line 1: expected the header offset_s,observer,place and nothing else.",
      in: "place,observer,offset_s\n")
    expectError(
      "There is no capture to replay: only the header is there.", in: "offset_s,observer,place\n")
  }
}
