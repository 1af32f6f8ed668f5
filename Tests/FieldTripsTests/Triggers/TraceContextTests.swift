import FieldTrips
import Testing

@Suite struct `A caller's trace` {
  private static let good = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"

  @Test func `is read from a traceparent and written as one`() throws {
    let trace = try #require(TraceContext(traceparent: Self.good))
    #expect(trace.traceHigh == 0x4bf9_2f35_77b3_4da6)
    #expect(trace.traceLow == 0xa3ce_929d_0e0e_4736)
    #expect(trace.span == 0x00f0_67aa_0ba9_02b7)
    #expect(trace.traceparent == Self.good)
  }

  @Test func `is read from a later version, which may say more`() {
    let later = "cc" + Self.good.dropFirst(2)
    #expect(TraceContext(traceparent: later + "-what-comes") != nil)
    #expect(TraceContext(traceparent: later) != nil)
    #expect(TraceContext(traceparent: Self.good + "-what-comes") == nil)
  }

  @Test(arguments: [
    "", "00", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7",
    "ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
    "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
    "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",
    "00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01",
    "00-4bf92f3577b34da6a3ce929d0e0e473g-00f067aa0ba902b7-01",
    "00-4bf92f3577b34da6a3ce929d0e0e47-00f067aa0ba902b7-01",
    "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-zz",
  ])
  func `is none if the traceparent is malformed`(text: String) {
    #expect(TraceContext(traceparent: text) == nil)
  }

  @Test func `is none if the caller does not keep it`() {
    #expect(TraceContext(traceparent: Self.good.dropLast(2) + "02") == nil)
    #expect(TraceContext(traceparent: Self.good.dropLast(2) + "03") != nil)
  }

  @Test func `stays with its trigger in the log, and costs no note if it is malformed`() throws {
    let trip = TripID(randomBytes: .init(repeating: 1))
    let body = #"{"id": "a", "traceparent": "\#(Self.good)"}"#
    let trigger = try Trigger.read(Array(body.utf8), trip: trip)
    #expect(trigger.trace?.traceparent == Self.good)
    let again = try Trigger.read(trigger.written(), kind: .note, trip: trip)
    #expect(again == trigger)
    let other = try Trigger.read(Array(#"{"id": "a", "traceparent": "no"}"#.utf8), trip: trip)
    #expect(other.trace == nil)
  }

  @Test func `of a trigger itself wins over that of the request it came in`() throws {
    let request = try #require(TraceContext(traceparent: Self.good.dropLast(2) + "03"))
    let own = try #require(
      TraceContext(traceparent: "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b8-01"))
    let body = #"{"id": "a", "traceparent": "\#(own.traceparent)"}"#
    let trigger = try Trigger.read(Array(body.utf8), trip: TripID(randomBytes: .init(repeating: 1)))
    #expect(trigger.with(request).trace == own)
    let plain = try Trigger.read(
      Array(#"{"id": "a"}"#.utf8), trip: TripID(randomBytes: .init(repeating: 1)))
    #expect(plain.with(request).trace == request)
  }
}
