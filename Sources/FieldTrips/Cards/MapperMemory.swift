package import Clocks
import JSON

/// How recent something is, as far as callers said: the highest sequence and the latest time seen.
///
/// A trigger is older than a mark if its sequence is lower, or, where one of the two has no
/// sequence, if it happened earlier. One that says neither is as new as its arrival. Both highest
/// values are kept, so that a trigger without sequence cannot hide how far sequences had come.
package struct OrderMark: Hashable, Sendable {
  package var sequence: Int64?
  package var occurredAt: UnixTime?

  package init(sequence: Int64? = nil, occurredAt: UnixTime? = nil) {
    self.sequence = sequence
    self.occurredAt = occurredAt
  }

  package func isOlder(than mark: OrderMark) -> Bool {
    if let sequence, let other = mark.sequence { return sequence < other }
    if let occurredAt, let other = mark.occurredAt { return occurredAt < other }
    return false
  }

  mutating func advance(to mark: OrderMark) {
    sequence = [sequence, mark.sequence].compactMap(\.self).max()
    occurredAt = [occurredAt, mark.occurredAt].compactMap(\.self).max()
  }
}

/// What the mapper must remember beside a content-state to tell late triggers from new ones. Stored
/// with the trip, never sent to a phone; at most one mark a field, and one for the last whole state.
package struct MapperMemory: Equatable, Sendable {
  /// By field: the trigger whose value it holds.
  package internal(set) var marks: [String: OrderMark]
  /// The last whole state that was set.
  package internal(set) var wholeState: OrderMark?

  package init() { marks = [:] }

  /// Reads what ``written()`` wrote; empty bytes are an empty memory.
  package init(stored bytes: [UInt8]) throws(Refusal) {
    self.init()
    guard !bytes.isEmpty else { return }
    let value: JSONValue
    do throws(JSONError) { value = try JSONValue.parse(bytes) } catch { throw Refusal(error) }
    for member in value["marks"]?.object?.elements ?? [] {
      marks[member.key] = OrderMark(member.value)
    }
    wholeState = value["wholeState"].map(OrderMark.init)
  }

  /// Compact JSON, the same for equal memories; empty if there is nothing to remember.
  package func written() -> [UInt8] {
    guard !marks.isEmpty || wholeState != nil else { return [] }
    var writer = JSONWriter(reservingCapacity: 96)
    writer.object {
      $0.key("marks")
      $0.object {
        for (field, mark) in marks.sorted(by: { $0.key < $1.key }) {
          $0.key(field)
          mark.write(to: &$0)
        }
      }
      if let wholeState {
        $0.key("wholeState")
        wholeState.write(to: &$0)
      }
    }
    return writer.finish()
  }

  /// Whether a trigger comes before the last whole state, which then already covers it.
  func isCovered(_ mark: OrderMark) -> Bool { wholeState.map(mark.isOlder) ?? false }
}

extension OrderMark {
  fileprivate init(_ value: JSONValue) {
    sequence = value["s"]?.int64
    occurredAt = value["t"]?.storedTime
  }

  fileprivate func write(to writer: inout JSONWriter) {
    writer.object {
      if let sequence { $0.member("s", sequence) }
      if let occurredAt { $0.member("t", occurredAt.milliseconds) }
    }
  }
}
