/// The keys of all objects that are open while a text is scanned, innermost last.
///
/// Real texts have few keys, so the first 32 live inline and cost no allocation.
struct JSONKeyLedger {
  private var inline = InlineArray<32, JSONKeyMark>(repeating: JSONKeyMark())
  private var spilled: [JSONKeyMark] = []
  private(set) var count = 0

  /// - Parameter frame: `count` when the object was opened.
  /// - Returns: false if that object has the key already.
  mutating func add(_ mark: JSONKeyMark, frame: Int, bytes: [UInt8]) -> Bool {
    var index = frame
    while index < count {
      let earlier = self[index]
      if earlier.hash == mark.hash, earlier.isSameKey(as: mark, in: bytes) { return false }
      index += 1
    }
    if count < inline.count { inline[count] = mark } else { spilled.append(mark) }
    count += 1
    return true
  }

  /// Forgets an object's keys when it closes.
  mutating func removeAll(from frame: Int) {
    count = frame
    if !spilled.isEmpty { spilled.removeLast(spilled.count - max(0, frame - inline.count)) }
  }

  private subscript(index: Int) -> JSONKeyMark {
    index < inline.count ? inline[index] : spilled[index - inline.count]
  }
}

/// Where a key stands, and a hash of what it says.
struct JSONKeyMark {
  /// FNV-1a over the key's bytes, escapes undone. Weak on purpose: it only spares comparisons,
  /// and ``JSONLimits/maxMembers`` bounds what equal hashes can cost.
  private(set) var hash: UInt32 = 0x811c_9dc5
  private var start: Int32 = 0
  private var length: Int32 = 0
  private var isEscaped = false

  init() {}

  init(_ string: (content: Range<Int>, isEscaped: Bool), in bytes: [UInt8]) {
    start = Int32(string.content.lowerBound)
    length = Int32(string.content.count)
    isEscaped = string.isEscaped
    if isEscaped {
      var content = JSONStringBytes(bytes, string.content)
      while let byte = content.next() { hash = (hash ^ UInt32(byte)) &* 0x0100_0193 }
    } else {
      for index in string.content { hash = (hash ^ UInt32(bytes[index])) &* 0x0100_0193 }
    }
  }

  func isSameKey(as other: JSONKeyMark, in bytes: [UInt8]) -> Bool {
    if !isEscaped && !other.isEscaped && length != other.length { return false }
    var mine = JSONStringBytes(bytes, range)
    var theirs = JSONStringBytes(bytes, other.range)
    while true {
      let (left, right) = (mine.next(), theirs.next())
      if left != right { return false }
      if left == nil { return true }
    }
  }

  /// The key for an error message: its first 64 characters.
  func excerpt(of bytes: [UInt8]) -> String {
    String(String(unescaping: range, of: bytes).prefix(64))
  }

  private var range: Range<Int> { Int(start)..<Int(start) + Int(length) }
}
