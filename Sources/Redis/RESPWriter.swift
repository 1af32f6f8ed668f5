/// Writes commands in the form in which Redis reads them: arrays of byte strings.
///
/// Everything goes straight into one buffer, which the connection hands to its stream once per
/// turn of the loop.
package struct RESPWriter: Sendable {
  package private(set) var bytes: [UInt8] = []

  package init() {}

  package var count: Int { bytes.count }
  package var isEmpty: Bool { bytes.isEmpty }

  /// Begins a command of `count` arguments, its name included; they must follow.
  package mutating func begin(count: Int) { header(UInt8(ascii: "*"), count) }

  package mutating func append(_ argument: [UInt8]) {
    header(UInt8(ascii: "$"), argument.count)
    bytes.append(contentsOf: argument)
    endLine()
  }

  package mutating func append(_ argument: ArraySlice<UInt8>) {
    header(UInt8(ascii: "$"), argument.count)
    bytes.append(contentsOf: argument)
    endLine()
  }

  package mutating func append(_ argument: String) {
    let text = argument.utf8
    header(UInt8(ascii: "$"), text.count)
    bytes.append(contentsOf: text)
    endLine()
  }

  package mutating func append(_ argument: StaticString) {
    argument.withUTF8Buffer { text in
      header(UInt8(ascii: "$"), text.count)
      bytes.append(contentsOf: text)
    }
    endLine()
  }

  package mutating func append(_ argument: Int64) {
    header(UInt8(ascii: "$"), Self.decimalCount(argument))
    decimal(argument)
    endLine()
  }

  /// Appends what another writer has written.
  package mutating func append(encoded other: RESPWriter) {
    bytes.append(contentsOf: other.bytes)
  }

  package mutating func append(encoded other: ArraySlice<UInt8>) {
    bytes.append(contentsOf: other)
  }

  /// Empties the buffer and keeps its memory, unless that is more than `limit` bytes: one huge
  /// value must not stay reserved for ever.
  package mutating func removeAll(keepingAtMost limit: Int) {
    bytes.removeAll(keepingCapacity: bytes.capacity <= limit)
  }

  package mutating func reserve(_ count: Int) { bytes.reserveCapacity(count) }

  /// `$12` and the end of the line, the most frequent bytes of all: short ones are put together in
  /// a register and appended once.
  @inline(__always)
  private mutating func header(_ mark: UInt8, _ count: Int) {
    if count < 10 {
      let digit = UInt32(truncatingIfNeeded: count) &+ 0x30
      append(word: UInt32(mark) | digit << 8 | 0x0a0d << 16, count: 4)
    } else if count < 100 {
      let (tens, ones) = UInt64(truncatingIfNeeded: count).quotientAndRemainder(dividingBy: 10)
      let digits = (tens &+ 0x30) << 8 | (ones &+ 0x30) << 16
      append(word: UInt64(mark) | digits | 0x0a0d << 24, count: 5)
    } else {
      bytes.append(mark)
      decimal(Int64(count))
      endLine()
    }
  }

  /// Appends the lowest bytes of `word`, the lowest first.
  @inline(__always)
  private mutating func append<Word: FixedWidthInteger>(word: Word, count: Int) {
    withUnsafeBytes(of: word.littleEndian) { bytes.append(contentsOf: $0.prefix(count)) }
  }

  @inline(__always)
  private mutating func endLine() {
    bytes.append(UInt8(ascii: "\r"))
    bytes.append(UInt8(ascii: "\n"))
  }

  private mutating func decimal(_ number: Int64) {
    if number < 0 { bytes.append(UInt8(ascii: "-")) }
    let end = bytes.count + Self.digitCount(number.magnitude)
    var rest = number.magnitude
    bytes.append(contentsOf: repeatElement(UInt8(ascii: "0"), count: end - bytes.count))
    var index = end - 1
    while rest > 0 {
      bytes[index] = UInt8(ascii: "0") + UInt8(rest % 10)
      rest /= 10
      index -= 1
    }
  }

  private static func decimalCount(_ number: Int64) -> Int {
    digitCount(number.magnitude) + (number < 0 ? 1 : 0)
  }

  private static func digitCount(_ magnitude: UInt64) -> Int {
    var count = 1
    var rest = magnitude / 10
    while rest > 0 {
      count += 1
      rest /= 10
    }
    return count
  }
}
