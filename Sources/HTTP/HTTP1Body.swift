/// Reads one message's body, however its length is told, up to a limit.
struct HTTP1Body {
  enum Phase: Equatable {
    case bytes(left: Int)
    case chunkSize
    case chunk(left: Int)
    case chunkEnd
    case trailers(bytes: Int)
    /// All that comes until the connection ends, which only answers may have.
    case untilClose
    case done
  }

  private(set) var phase: Phase
  private(set) var received = 0
  /// Bytes that may come in all.
  private let limit: Int

  /// - Throws: 413 when the told length is over the limit, so that it need not be sent first.
  init(_ framing: HTTP1Syntax.Framing, limit: Int) throws(HTTP1Error) {
    self.limit = limit
    switch framing {
    case .none: phase = .done
    case .length(0): phase = .done
    case .length(let count):
      guard count <= limit else { throw Self.tooLarge(limit) }
      phase = .bytes(left: count)
    case .chunked: phase = .chunkSize
    }
  }

  init(untilClose limit: Int) {
    self.limit = limit
    phase = .untilClose
  }

  var isDone: Bool { phase == .done }

  /// Moves what is there into `body`; returns when more bytes are needed or the body is complete.
  mutating func read(
    _ input: inout HTTP1Input, into body: inout [UInt8]
  ) throws(HTTP1Error) {
    while true {
      switch phase {
      case .done: return
      case .bytes(let left):
        guard let next = try take(left, &input, &body) else { return }
        phase = next == 0 ? .done : .bytes(left: next)
      case .untilClose:
        guard try take(.max, &input, &body) != nil else { return }
      case .chunk(let left):
        guard let next = try take(left, &input, &body) else { return }
        phase = next == 0 ? .chunkEnd : .chunk(left: next)
      case .chunkSize: if try !readChunkSize(&input) { return }
      case .chunkEnd:
        guard let line = try input.takeLine(limit: 2, tooLong: Self.badChunk) else { return }
        guard line.isEmpty else { throw Self.badChunk }
        phase = .chunkSize
      case .trailers(let bytes): if try !readTrailer(&input, bytes) { return }
      }
    }
  }

  /// - Returns: how many of `left` bytes are still to come; nil when there were none to take.
  private mutating func take(
    _ left: Int, _ input: inout HTTP1Input, _ body: inout [UInt8]
  ) throws(HTTP1Error) -> Int? {
    let bytes = input.take(upTo: left)
    if bytes.isEmpty { return nil }
    received += bytes.count
    guard received <= limit else { throw Self.tooLarge(limit) }
    body.append(contentsOf: bytes)
    return left - bytes.count
  }

  private mutating func readChunkSize(_ input: inout HTTP1Input) throws(HTTP1Error) -> Bool {
    guard let line = try input.takeLine(limit: 256, tooLong: Self.badChunk) else { return false }
    let digits = line.prefix { HTTP1Syntax.hexadecimal($0) != nil }
    guard (1...8).contains(digits.count) else { throw Self.badChunk }
    let rest = line[digits.endIndex...]
    // Extensions are nobody's; they are let go when they are well-formed bytes.
    guard rest.isEmpty || rest.first == UInt8(ascii: ";"),
      rest.allSatisfy({ HTTP1Syntax.value[Int($0)] })
    else { throw Self.badChunk }
    let size = digits.reduce(0) { $0 << 4 | (HTTP1Syntax.hexadecimal($1) ?? 0) }
    guard received + size <= limit else { throw Self.tooLarge(limit) }
    phase = size == 0 ? .trailers(bytes: 0) : .chunk(left: size)
    return true
  }

  /// Trailers are checked and let go: a field that comes behind the body has had no say before it.
  private mutating func readTrailer(
    _ input: inout HTTP1Input, _ before: Int
  ) throws(HTTP1Error) -> Bool {
    let tooLong = HTTP1Error(431, "The trailer fields have more than \(Self.trailerLimit) bytes.")
    guard let line = try input.takeLine(limit: Self.trailerLimit - before, tooLong: tooLong) else {
      return false
    }
    if line.isEmpty {
      phase = .done
    } else {
      _ = try HTTP1Syntax.field(line)
      phase = .trailers(bytes: before + line.count + 2)
    }
    return true
  }

  private static let trailerLimit = 4_096
  private static let badChunk = HTTP1Error(400, "A chunk of the body is malformed.")

  private static func tooLarge(_ limit: Int) -> HTTP1Error {
    HTTP1Error(413, "The body has more than \(limit) bytes, which is the limit here.")
  }
}
