/// The ID of an entry in a Redis stream: its milliseconds and its number within them.
package struct StreamID: Sendable, Hashable, Comparable, CustomStringConvertible {
  package let milliseconds: UInt64
  package let sequence: UInt64

  package init(milliseconds: UInt64, sequence: UInt64) {
    self.milliseconds = milliseconds
    self.sequence = sequence
  }

  /// Before every entry.
  package static let zero = StreamID(milliseconds: 0, sequence: 0)

  /// - Parameter text: `1700000000000-3`, or without the number, which is then 0.
  package init?(_ text: some StringProtocol) {
    let parts = text.split(separator: "-", maxSplits: 1, omittingEmptySubsequences: false)
    guard let milliseconds = UInt64(parts[0]) else { return nil }
    self.milliseconds = milliseconds
    if parts.count == 1 {
      sequence = 0
    } else {
      guard let number = UInt64(parts[1]) else { return nil }
      sequence = number
    }
  }

  /// Reads the bytes of both numbers, as replies have them.
  package init?(ascii bytes: [UInt8]) {
    var numbers: (UInt64, UInt64) = (0, 0)
    var digits = 0
    var isSecond = false
    for byte in bytes {
      let digit = byte &- UInt8(ascii: "0")
      guard digit < 10 else {
        guard byte == UInt8(ascii: "-"), !isSecond, digits > 0 else { return nil }
        numbers = (numbers.1, 0)
        (isSecond, digits) = (true, 0)
        continue
      }
      let (product, isTooLarge) = numbers.1.multipliedReportingOverflow(by: 10)
      let (sum, overflows) = product.addingReportingOverflow(UInt64(digit))
      guard !isTooLarge, !overflows else { return nil }
      numbers.1 = sum
      digits += 1
    }
    guard isSecond, digits > 0 else { return nil }
    (milliseconds, sequence) = numbers
  }

  package var description: String { "\(milliseconds)-\(sequence)" }

  package static func < (left: StreamID, right: StreamID) -> Bool {
    (left.milliseconds, left.sequence) < (right.milliseconds, right.sequence)
  }
}

extension StreamID: RESPArgument {
  package func write(to writer: inout RESPWriter) { writer.append(description) }
}

/// An entry of a stream: names and values, in the order in which they were added.
package struct StreamEntry: Sendable, Hashable {
  package struct Field: Sendable, Hashable {
    package let name: String
    package let value: [UInt8]

    package init(_ name: String, _ value: [UInt8]) {
      self.name = name
      self.value = value
    }

    package init(_ name: String, _ value: String) { self.init(name, Array(value.utf8)) }
  }

  package let id: StreamID
  package let fields: [Field]
  /// Set when a group still counts it as pending but the stream has it no more.
  package let isDeleted: Bool

  package init(id: StreamID, fields: [Field], isDeleted: Bool = false) {
    self.id = id
    self.fields = fields
    self.isDeleted = isDeleted
  }

  /// The value of the first field of that name.
  package subscript(name: String) -> [UInt8]? { fields.first { $0.name == name }?.value }

  /// Like the subscript, as text; nil also when it is not UTF-8.
  package func text(_ name: String) -> String? {
    self[name].flatMap { String(validating: $0, as: UTF8.self) }
  }
}

/// What one stream had to give in a read of several.
package struct StreamBatch: Sendable, Equatable {
  package let key: String
  package let entries: [StreamEntry]
}

extension RESPValue {
  package func streamIDValue() throws(RedisError) -> StreamID {
    guard let id = StreamID(ascii: try bytesValue()) else { throw unexpected("a stream ID") }
    return id
  }

  /// The entries that `XRANGE` returns, and `XREAD` for each stream.
  package func streamEntries() throws(RedisError) -> [StreamEntry] {
    let values = try arrayValue()
    var entries: [StreamEntry] = []
    entries.reserveCapacity(values.count)
    // XAUTOCLAIM of older servers says nil for an entry that is gone, without its ID.
    for value in values where !value.isNull { entries.append(try value.streamEntry()) }
    return entries
  }

  /// The streams that `XREAD` and `XREADGROUP` return; none when the wait ended without entries.
  package func streamBatches() throws(RedisError) -> [StreamBatch] {
    if isNull { return [] }
    var batches: [StreamBatch] = []
    for value in try arrayValue() {
      let parts = try value.arrayValue()
      guard parts.count == 2 else { throw value.unexpected("a stream's key and entries") }
      batches.append(
        StreamBatch(key: try parts[0].stringValue(), entries: try parts[1].streamEntries()))
    }
    return batches
  }

  private func streamEntry() throws(RedisError) -> StreamEntry {
    let parts = try arrayValue()
    guard parts.count == 2 else { throw unexpected("an entry's ID and fields") }
    let id = try parts[0].streamIDValue()
    if parts[1].isNull { return StreamEntry(id: id, fields: [], isDeleted: true) }
    var fields: [StreamEntry.Field] = []
    for (name, value) in try parts[1].fieldsValue() {
      fields.append(StreamEntry.Field(name, value))
    }
    return StreamEntry(id: id, fields: fields)
  }
}
