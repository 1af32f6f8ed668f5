internal import CHiredis

/// Reads replies from a stream of bytes, however they are cut: hiredis' reader, with our values in
/// place of its own.
///
/// hiredis calls back for each value that it has read whole; those calls only take notes in an
/// inbox, from which ``next()`` takes the finished reply. No C memory is kept for a reply, and no
/// pointer leaves this file.
package final class RESPReader {
  /// What the other side sent is not RESP2, or is more than we accept. The connection is lost:
  /// there is no way to find the next reply's beginning.
  package struct Violation: Error, Sendable, Equatable, CustomStringConvertible {
    package let description: String
  }

  private let reader: UnsafeMutablePointer<redisReader>
  private let inbox = Inbox()
  private let maxReplyBytes: Int

  /// - Parameter maxReplyBytes: of one reply, all its values together. Redis itself allows 512 MB
  ///   in one string; nothing that we store comes near, so the default is a guard, not a limit
  ///   that anyone should meet.
  package init(maxReplyBytes: Int = 64 << 20) {
    self.maxReplyBytes = maxReplyBytes
    guard let reader = redisReaderCreateWithFunctions(Self.functions) else {
      fatalError("no memory for a reply reader")
    }
    self.reader = reader
    reader.pointee.privdata = Unmanaged.passUnretained(inbox).toOpaque()
  }

  deinit { redisReaderFree(reader) }

  /// Takes in bytes from the server; what they make is then asked for with ``next()``.
  package func feed(_ bytes: RawSpan) {
    bytes.withUnsafeBytes { buffer in
      guard let start = buffer.baseAddress, buffer.count > 0 else { return }
      // An error (no memory) is kept by the reader and comes out of the next call.
      _ = redisReaderFeed(reader, start, buffer.count)
    }
  }

  package func feed(_ bytes: [UInt8]) { feed(bytes.span.bytes) }

  /// The next reply that is there in full, or nil until more bytes come.
  package func next() throws(Violation) -> RESPValue? {
    var object: UnsafeMutableRawPointer?
    guard redisReaderGetReply(reader, &object) == REDIS_OK else {
      throw Violation(description: reason)
    }
    guard object != nil else {
      let held = reader.pointee.len - reader.pointee.pos + inbox.heldBytes
      guard held <= maxReplyBytes else {
        throw Violation(
          description: "A reply has more than \(maxReplyBytes) bytes, which is more than we accept."
        )
      }
      return nil
    }
    return inbox.take()
  }

  private var reason: String {
    let text = withUnsafeBytes(of: &reader.pointee.errstr) { raw in
      String(decoding: raw.prefix { $0 != 0 }, as: UTF8.self)
    }
    return "The server does not speak RESP2: \(text)."
  }

  /// Called by hiredis with each value, an array before its elements. The value stands for itself
  /// in ours, so hiredis only needs something that is not null.
  private nonisolated(unsafe) static let functions = {
    // Written once before first use and only read afterwards, from whatever thread.
    let table = UnsafeMutablePointer<redisReplyObjectFunctions>.allocate(capacity: 1)
    table.initialize(
      to: redisReplyObjectFunctions(
        createString: { task, start, count in
          note(task) { $0.string(type: task!.pointee.type, start: start, count: count) }
        },
        createArray: { task, count in note(task) { $0.array(count: Int(count)) } },
        createInteger: { task, number in note(task) { $0.value(.integer(number)) } },
        createNil: { task in note(task) { $0.value(.null) } },
        freeObject: { _ in }))
    return table
  }()

  private static func note(
    _ task: UnsafePointer<redisReadTask>?, _ body: (Inbox) -> Void
  ) -> UnsafeMutableRawPointer? {
    guard let inbox = task?.pointee.privdata else { return nil }
    Unmanaged<Inbox>.fromOpaque(inbox)._withUnsafeGuaranteedRef { body($0) }
    return inbox
  }
}

/// The reply that is being put together.
private final class Inbox {
  private struct OpenArray {
    var missing: Int
    var values: [RESPValue]
  }

  private var open: [OpenArray] = []
  private var finished: RESPValue?
  /// Bytes of strings in arrays that are not finished.
  private(set) var heldBytes = 0

  func string(type: Int32, start: UnsafeMutablePointer<CChar>?, count: Int) {
    let bytes = UnsafeRawBufferPointer(start: start, count: count)
    if !open.isEmpty { heldBytes += count }
    switch type {
    case REDIS_REPLY_STATUS: value(.simple(String(decoding: bytes, as: UTF8.self)))
    case REDIS_REPLY_ERROR:
      value(.error(RedisRefusal(text: String(decoding: bytes, as: UTF8.self))))
    default: value(.bulk([UInt8](bytes)))
    }
  }

  func array(count: Int) {
    if count == 0 {
      value(.array([]))
      return
    }
    var values: [RESPValue] = []
    // The count is the server's claim: memory for it is reserved only up to a modest size.
    values.reserveCapacity(min(count, 1024))
    open.append(OpenArray(missing: count, values: values))
  }

  func value(_ value: RESPValue) {
    var value = value
    heldBytes += open.isEmpty ? 0 : MemoryLayout<RESPValue>.stride
    while let last = open.indices.last {
      open[last].values.append(value)
      open[last].missing -= 1
      if open[last].missing > 0 { return }
      value = .array(open.removeLast().values)
    }
    finished = value
    heldBytes = 0
  }

  func take() -> RESPValue? {
    defer { finished = nil }
    return finished
  }
}
