/// Reading replies as what a command promises.
///
/// Each of these throws ``RedisError/unexpectedReply(_:)`` when the reply is of another kind: then
/// the command and its reader do not belong together, or a key holds something else than thought.
extension RESPValue {
  package var isNull: Bool { self == .null }

  /// An integer reply, or a string that holds one, as counters and `HGET` return them.
  package func integerValue() throws(RedisError) -> Int64 {
    switch self {
    case .integer(let number): return number
    case .bulk(let bytes):
      if let number = Self.integer(in: bytes) { return number }
      throw unexpected("an integer")
    default: throw unexpected("an integer")
    }
  }

  /// Like ``integerValue()``, for numbers that fit an `Int`.
  package func intValue() throws(RedisError) -> Int { Int(try integerValue()) }

  /// A string reply's bytes; a status line's too.
  package func bytesValue() throws(RedisError) -> [UInt8] {
    switch self {
    case .bulk(let bytes): return bytes
    case .simple(let text): return Array(text.utf8)
    default: throw unexpected("a string")
    }
  }

  /// Like ``bytesValue()``, with nil for a missing key.
  package func optionalBytes() throws(RedisError) -> [UInt8]? {
    isNull ? nil : try bytesValue()
  }

  /// A string reply as text. Bytes that are not UTF-8 are an error, never silently replaced.
  package func stringValue() throws(RedisError) -> String {
    switch self {
    case .simple(let text): return text
    case .bulk(let bytes):
      guard let text = String(validating: bytes, as: UTF8.self) else {
        throw unexpected("text in UTF-8")
      }
      return text
    default: throw unexpected("a string")
    }
  }

  /// Like ``stringValue()``, with nil for a missing key.
  package func optionalString() throws(RedisError) -> String? {
    isNull ? nil : try stringValue()
  }

  package func arrayValue() throws(RedisError) -> [RESPValue] {
    guard case .array(let values) = self else { throw unexpected("an array") }
    return values
  }

  /// An array of strings, as text.
  package func stringsValue() throws(RedisError) -> [String] {
    let values = try arrayValue()
    var strings: [String] = []
    strings.reserveCapacity(values.count)
    for value in values { strings.append(try value.stringValue()) }
    return strings
  }

  /// An array of alternating names and values, as `HGETALL` and `XRANGE` return them, in order.
  package func fieldsValue() throws(RedisError) -> [(name: String, value: [UInt8])] {
    let values = try arrayValue()
    guard values.count.isMultiple(of: 2) else { throw unexpected("names and values in turn") }
    var fields: [(name: String, value: [UInt8])] = []
    fields.reserveCapacity(values.count / 2)
    for index in stride(from: 0, to: values.count, by: 2) {
      fields.append((try values[index].stringValue(), try values[index + 1].bytesValue()))
    }
    return fields
  }

  /// Like ``fieldsValue()``, by name. A name that comes twice has its last value.
  package func fieldMap() throws(RedisError) -> [String: [UInt8]] {
    var map: [String: [UInt8]] = [:]
    for (name, value) in try fieldsValue() { map[name] = value }
    return map
  }

  /// The lines `name:value` of `INFO` and `CLUSTER INFO`, by name.
  package func infoValue() throws(RedisError) -> [String: String] {
    var facts: [String: String] = [:]
    for line in try stringValue().split(whereSeparator: \.isNewline) {
      guard let colon = line.firstIndex(of: ":") else { continue }
      facts[String(line[..<colon])] = String(line[line.index(after: colon)...])
    }
    return facts
  }

  /// An error that says what was expected in this value's place.
  package func unexpected(_ expected: String) -> RedisError {
    .unexpectedReply("The reply should be \(expected), and is \(kindName).")
  }

  /// A decimal integer that fills all of `bytes`; nil for anything else.
  package static func integer(in bytes: [UInt8]) -> Int64? {
    var index = 0
    let isNegative = bytes.first == UInt8(ascii: "-")
    if isNegative { index = 1 }
    guard index < bytes.count else { return nil }
    var number: Int64 = 0
    while index < bytes.count {
      let digit = bytes[index] &- UInt8(ascii: "0")
      guard digit < 10 else { return nil }
      let (product, tooLarge) = number.multipliedReportingOverflow(by: 10)
      // Summed downwards for negative numbers, since the least Int64 has no positive twin.
      let step = isNegative ? -Int64(digit) : Int64(digit)
      let (sum, overflows) = product.addingReportingOverflow(step)
      if tooLarge || overflows { return nil }
      number = sum
      index += 1
    }
    return number
  }
}
