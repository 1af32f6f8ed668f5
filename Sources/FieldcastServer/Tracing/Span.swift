internal import Clocks
internal import FieldTrips
internal import JSON

/// A part of a trace, as OpenTelemetry has them.
struct Span: Sendable {
  /// OpenTelemetry's numbers.
  enum Kind: Int, Sendable {
    case inside = 1
    /// It sends on what others will hear of later.
    case producer = 4
    /// It takes in what others sent.
    case consumer = 5
  }

  enum Fact: Sendable {
    case text(String)
    case number(Int64)
  }

  /// Of the caller.
  let trace: TraceContext
  /// Not zero: that would be none.
  let id: UInt64
  let parent: UInt64
  let name: String
  let kind: Kind
  let from: UnixTime
  let until: UnixTime
  let facts: [(name: String, fact: Fact)]

  /// As OTLP's JSON has it: IDs are hexadecimal, and 64-bit numbers are strings.
  func write(to writer: inout JSONWriter) {
    writer.member("traceId", trace.traceID)
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
