import Clocks
import Transport

/// One client of the ``LeanServer``: frames in, answers out.
///
/// `@unchecked Sendable` is right because only the loop's thread touches it: its stream calls it
/// there, and so do its timers.
final class LeanServerConnection: StreamHandler, @unchecked Sendable {
  private enum Kind {
    static let data: UInt8 = 0
    static let headers: UInt8 = 1
    static let settings: UInt8 = 4
    static let ping: UInt8 = 6
    static let windowUpdate: UInt8 = 8
    static let continuation: UInt8 = 9
  }

  private enum Flag {
    static let acknowledgement: UInt8 = 1
    static let endStream: UInt8 = 1
    static let endHeaders: UInt8 = 4
    static let padded: UInt8 = 8
    static let priority: UInt8 = 32
  }

  private struct Answer {
    var streamID: UInt32
    var refusal: BenchTokens.Refusal?
    var due: Moment
  }

  private static let prefaceBytes = 24
  private static let frameHeadBytes = 9
  /// The client may send so much before the next update of the connection's window.
  private static let window: UInt32 = 64 << 20

  private let stream: ByteStream
  private let configuration: LeanServer.Configuration
  /// Bytes that are not a whole frame yet.
  private var input: [UInt8] = []
  private var output: [UInt8] = []
  private var hasPreface = false
  private var bytesTaken: UInt32 = 0
  private var answered: UInt64 = 0
  /// In the order in which they become due, since all wait equally long.
  private var waiting: [Answer] = []
  private var firstWaiting = 0
  private var isTimerSet = false
  private let heads: HeadReader?
  private var refusals: [UInt32: BenchTokens.Refusal] = [:]

  init(_ stream: ByteStream, _ configuration: LeanServer.Configuration) {
    self.stream = stream
    self.configuration = configuration
    heads = configuration.knowsBadTokens ? HeadReader() : nil
    // SETTINGS_MAX_CONCURRENT_STREAMS, and room for the bodies of all streams.
    put(Kind.settings, 0, 0, [0, 3] + Self.bigEndian(configuration.maxConcurrentStreams))
    put(Kind.windowUpdate, 0, 0, Self.bigEndian(Self.window))
    stream.write(output)
    output.removeAll(keepingCapacity: true)
  }

  // MARK: StreamHandler

  func streamReceived(_ bytes: RawSpan) {
    bytes.withUnsafeBytes { input.append(contentsOf: $0) }
    let used = input.withUnsafeBytes { readFrames($0) }
    input.removeFirst(used)
    if bytesTaken > Self.window / 4 {
      put(Kind.windowUpdate, 0, 0, Self.bigEndian(bytesTaken))
      bytesTaken = 0
    }
    stream.setNeedsFlush()
  }

  func streamWillFlush() {
    if output.isEmpty { return }
    stream.write(output)
    output.removeAll(keepingCapacity: true)
  }

  func streamDrained() {}

  func streamClosed(_ closure: StreamClosure) {}

  // MARK: Frames

  /// - Returns: how many bytes were whole frames.
  private func readFrames(_ bytes: UnsafeRawBufferPointer) -> Int {
    var start = 0
    if !hasPreface {
      guard bytes.count >= Self.prefaceBytes else { return 0 }
      hasPreface = true
      start = Self.prefaceBytes
    }
    while bytes.count - start >= Self.frameHeadBytes {
      let length = Int(bytes[start]) << 16 | Int(bytes[start + 1]) << 8 | Int(bytes[start + 2])
      let payload = start + Self.frameHeadBytes
      guard bytes.count - payload >= length else { break }
      let streamID = (5..<9).reduce(UInt32(0)) { $0 << 8 | UInt32(bytes[start + $1]) }
      take(
        bytes[start + 3], bytes[start + 4], streamID,
        UnsafeRawBufferPointer(rebasing: bytes[payload..<(payload + length)]))
      start = payload + length
    }
    return start
  }

  private func take(
    _ kind: UInt8, _ flags: UInt8, _ streamID: UInt32, _ payload: UnsafeRawBufferPointer
  ) {
    switch kind {
    case Kind.headers:
      guard flags & Flag.endHeaders != 0 else { return stream.abort() }
      if let heads { refusals[streamID] = heads.refusal(in: Self.block(of: payload, flags)) }
      if flags & Flag.endStream != 0 { requestEnded(streamID) }
    case Kind.data:
      bytesTaken += UInt32(payload.count)
      if flags & Flag.endStream != 0 { requestEnded(streamID) }
    case Kind.settings:
      if flags & Flag.acknowledgement == 0 { put(Kind.settings, Flag.acknowledgement, 0, []) }
    case Kind.ping:
      if flags & Flag.acknowledgement == 0 {
        put(Kind.ping, Flag.acknowledgement, 0, Array(payload))
      }
    // A head of more than 16 KB is none of a push.
    case Kind.continuation: stream.abort()
    default: break
    }
  }

  private static func block(
    of payload: UnsafeRawBufferPointer, _ flags: UInt8
  ) -> UnsafeRawBufferPointer {
    var block = payload[...]
    if flags & Flag.padded != 0, let padding = block.popFirst() {
      block = block.dropLast(Int(padding))
    }
    if flags & Flag.priority != 0 { block = block.dropFirst(5) }
    return UnsafeRawBufferPointer(rebasing: block)
  }

  private func put(_ kind: UInt8, _ flags: UInt8, _ streamID: UInt32, _ payload: [UInt8]) {
    output.append(UInt8(truncatingIfNeeded: payload.count >> 16))
    output.append(UInt8(truncatingIfNeeded: payload.count >> 8))
    output.append(UInt8(truncatingIfNeeded: payload.count))
    output.append(kind)
    output.append(flags)
    output.append(contentsOf: Self.bigEndian(streamID))
    output.append(contentsOf: payload)
  }

  private static func bigEndian(_ number: UInt32) -> [UInt8] {
    [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: number >> $0) }
  }

  // MARK: Answers

  private func requestEnded(_ streamID: UInt32) {
    let refusal = heads == nil ? nil : refusals.removeValue(forKey: streamID)
    if configuration.answersAfter == .zero { return answer(streamID, refusal) }
    waiting.append(
      Answer(
        streamID: streamID, refusal: refusal, due: stream.loop.now + configuration.answersAfter))
    setTimer()
  }

  private func setTimer() {
    guard !isTimerSet, firstWaiting < waiting.count else { return }
    isTimerSet = true
    _ = stream.loop.schedule(at: waiting[firstWaiting].due) { self.answerWhatIsDue() }
  }

  private func answerWhatIsDue() {
    isTimerSet = false
    while firstWaiting < waiting.count, waiting[firstWaiting].due <= stream.loop.now {
      answer(waiting[firstWaiting].streamID, waiting[firstWaiting].refusal)
      firstWaiting += 1
    }
    if firstWaiting > 4_096 || firstWaiting == waiting.count {
      waiting.removeFirst(firstWaiting)
      firstWaiting = 0
    }
    setTimer()
    if stream.isOpen { stream.setNeedsFlush() }
  }

  /// The bodies of refusals never fill the client's window: a thousand have fewer than 65,535 bytes.
  private func answer(_ streamID: UInt32, _ refusal: BenchTokens.Refusal?) {
    let body = refusal?.body ?? []
    let isEnd = body.isEmpty ? Flag.endStream : 0
    let start = output.count
    put(Kind.headers, Flag.endHeaders | isEnd, streamID, [])
    if let refusal {
      // `:status` by its place in the static table, and its value as it is.
      output.append(contentsOf: [0x08, 3])
      output.append(contentsOf: String(refusal.status).utf8)
    } else {
      output.append(0x88)
    }
    putID()
    output[start + 2] = UInt8(output.count - start - Self.frameHeadBytes)
    if !body.isEmpty { put(Kind.data, Flag.endStream, streamID, body) }
  }

  /// An `apns-id` that no other answer has, as a field that is not to be indexed.
  private func putID() {
    answered += 1
    output.append(contentsOf: Self.idField)
    var number = answered
    var position = output.count - 1
    while number > 0, position >= output.count - 12 {
      output[position] = Self.digits[Int(number & 15)]
      number >>= 4
      position -= 1
    }
  }

  private static let digits = Array("0123456789abcdef".utf8)
  private static let idField: [UInt8] =
    [0, 7] + Array("apns-id".utf8) + [36] + Array("6f1a2b3c-0d4e-4f50-8a6b-000000000000".utf8)
}
