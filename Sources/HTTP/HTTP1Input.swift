/// Bytes that came in and were not yet read, with the means to read lines and counts of them.
struct HTTP1Input {
  private var bytes: [UInt8] = []
  private var start = 0
  /// Up to here no line feed was found, so that a line that drips in is not scanned anew each time.
  private var scanned = 0

  var count: Int { bytes.count - start }
  var isEmpty: Bool { count == 0 }

  mutating func append(_ span: RawSpan) {
    if start == bytes.count {
      bytes.removeAll(keepingCapacity: bytes.capacity <= 65_536)
      start = 0
      scanned = 0
    }
    span.withUnsafeBytes { bytes.append(contentsOf: $0) }
  }

  /// The next line without its CRLF; nil while it is not complete.
  ///
  /// A line feed alone ends no line: who takes it for one disagrees with who does not on where a
  /// head ends. It is an error, as is a carriage return alone, which the callers' tables refuse.
  ///
  /// - Parameter limit: bytes of the line with its CRLF, beyond which `tooLong` is thrown.
  mutating func takeLine(
    limit: Int, tooLong: @autoclosure () -> HTTP1Error
  ) throws(HTTP1Error) -> ArraySlice<UInt8>? {
    let from = max(scanned, start)
    guard let feed = bytes[from...].firstIndex(of: 0x0a) else {
      scanned = bytes.count
      if count > limit { throw tooLong() }
      return nil
    }
    guard feed - start < limit else { throw tooLong() }
    guard feed > start, bytes[feed - 1] == 0x0d else {
      throw HTTP1Error(400, "A line ends without a carriage return.")
    }
    let line = bytes[start..<(feed - 1)]
    start = feed + 1
    scanned = start
    return line
  }

  /// As many bytes as there are, at most `limit`.
  mutating func take(upTo limit: Int) -> ArraySlice<UInt8> {
    let end = start + min(count, limit)
    defer {
      start = end
      scanned = end
    }
    return bytes[start..<end]
  }

  /// Gives back memory that was read, when much of it piled up.
  mutating func compact() {
    guard start > 65_536 else { return }
    bytes.removeSubrange(..<start)
    scanned -= start
    start = 0
  }
}
