/// The table by which HPACK (RFC 7541) abbreviates fields, as the peer's decoder has it after all
/// that was written.
struct FieldTable {
  /// Bytes of names and values that HTTP/2 begins with; more is never used, since heads of pushes
  /// have few fields that repeat.
  static let usualLimit = 4_096

  private struct Entry {
    let name: [UInt8]
    let value: [UInt8]
    /// As RFC 7541, section 4.1 counts it.
    var bytes: Int { name.count + value.count + 32 }
  }

  /// The entries of the fixed table (appendix A) that requests of clients like ours have. The empty
  /// value stands for none in particular.
  private static let fixed: [(index: Int, name: [UInt8], value: [UInt8])] = [
    (1, ":authority", ""), (2, ":method", "GET"), (3, ":method", "POST"), (4, ":path", "/"),
    (6, ":scheme", "http"), (7, ":scheme", "https"), (19, "accept", ""), (23, "authorization", ""),
    (28, "content-length", ""), (31, "content-type", ""), (58, "user-agent", ""),
  ].map { ($0, Array($1.utf8), Array($2.utf8)) }
  private static let fixedCount = 61

  /// The newest last.
  private var entries: [Entry] = []
  private var bytes = 0
  private var limit = FieldTable.usualLimit
  /// The lowest that the limit was since it was announced; nil when nothing is to be announced.
  private var lowest: Int?

  /// The peer gives its decoder's table this size at most. The change must be announced at the
  /// beginning of the next head.
  mutating func setPeersLimit(_ size: Int) {
    let new = min(size, Self.usualLimit)
    guard new != limit else { return }
    limit = new
    lowest = min(lowest ?? new, new)
    evict(to: new)
  }

  /// The sizes to announce, in this order; they count as announced then.
  mutating func takeChanges() -> [Int] {
    guard let lowest else { return [] }
    self.lowest = nil
    return lowest < limit ? [lowest, limit] : [limit]
  }

  func index(ofName name: [UInt8], value: [UInt8]) -> Int? {
    if let known = Self.fixed.first(where: {
      $0.name == name && $0.value == value && !value.isEmpty
    }) {
      return known.index
    }
    return entries.lastIndex { $0.name == name && $0.value == value }.map { index(at: $0) }
  }

  func index(ofName name: [UInt8]) -> Int? {
    if let known = Self.fixed.first(where: { $0.name == name }) { return known.index }
    return entries.lastIndex { $0.name == name }.map { index(at: $0) }
  }

  /// Whether there is room for a field without pushing out most of the others.
  func hasRoom(forName name: [UInt8], value: [UInt8]) -> Bool {
    Entry(name: name, value: value).bytes <= limit / 4 * 3
  }

  /// Adds what the decoder adds when it is told to.
  mutating func insert(_ name: [UInt8], _ value: [UInt8]) {
    let entry = Entry(name: name, value: value)
    evict(to: limit - entry.bytes)
    guard entry.bytes <= limit else { return }
    entries.append(entry)
    bytes += entry.bytes
  }

  private mutating func evict(to size: Int) {
    var gone = 0
    while bytes > max(size, 0), gone < entries.count {
      bytes -= entries[gone].bytes
      gone += 1
    }
    entries.removeFirst(gone)
  }

  private func index(at position: Int) -> Int { Self.fixedCount + entries.count - position }
}
