internal import Clocks
internal import FieldTrips
internal import JSON

/// A part of a trace, as OpenTelemetry has them.
struct Span: Sendable, Equatable {
  /// OpenTelemetry's numbers.
  enum Kind: Int, Sendable {
    case inside = 1
    /// It sends on what others will hear of later.
    case producer = 4
    /// It takes in what others sent.
    case consumer = 5
  }

  enum Fact: Sendable, Equatable {
    case text(String)
    case number(Int64)
  }

  let traceHigh: UInt64
  let traceLow: UInt64
  let id: UInt64
  let parent: UInt64
  let name: String
  let kind: Kind
  let from: UnixTime
  let until: UnixTime
  var facts: [(name: String, fact: Fact)]

  static func == (one: Span, other: Span) -> Bool {
    one.written() == other.written()
  }

  private func written() -> [UInt8] {
    var writer = JSONWriter(reservingCapacity: 512)
    writer.object { write(to: &$0) }
    return writer.finish()
  }

  /// As OTLP's JSON has it: IDs are hexadecimal, and 64-bit numbers are strings.
  func write(to writer: inout JSONWriter) {
    writer.member("traceId", TraceContext.digits(traceHigh) + TraceContext.digits(traceLow))
    writer.member("spanId", TraceContext.digits(id))
    writer.member("parentSpanId", TraceContext.digits(parent))
    writer.member("name", name)
    writer.member("kind", Int64(kind.rawValue))
    writer.member("startTimeUnixNano", "\(from.nanoseconds)")
    writer.member("endTimeUnixNano", "\(max(from, until).nanoseconds)")
    writer.key("attributes")
    writer.array { list in
      for (name, fact) in facts { list.object { Self.write(name, fact, to: &$0) } }
    }
  }

  static func write(_ name: String, _ fact: Fact, to writer: inout JSONWriter) {
    writer.member("key", name)
    writer.key("value")
    writer.object {
      switch fact {
      case .text(let text): $0.member("stringValue", text)
      case .number(let number): $0.member("intValue", "\(number)")
      }
    }
  }
}
