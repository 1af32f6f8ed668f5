import HTTP
import Testing

/// Good bytes with random damage: nothing may crash, leak a slot, or give one request two ends.
@Suite struct `Damaged bytes` {
  @Test(arguments: 0..<300)
  func `do not upset the request parser`(seed: Int) {
    var random = SplitMix(state: UInt64(seed))
    let good =
      "POST /v1/trips?x=%20 HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
      + "5;x=y\r\nhello\r\n0\r\nt: u\r\n\r\n"
      + "GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nConnection: close\r\n\r\nabc"
    for _ in 0..<20 {
      let bytes = damaged(Array(good.utf8), by: &random)
      let whole = outline(bytes, pieces: bytes.count, &random)
      #expect(whole == outline(bytes, pieces: 1, &random), "the cut decides what \(bytes) means")
    }
  }

  @Test(arguments: 0..<300)
  func `do not upset a server's session`(seed: Int) throws {
    var random = SplitMix(state: UInt64(seed))
    let client = HTTP2ClientSession()
    for number in 0..<6 {
      let request = HTTPRequest(
        method: "POST", authority: "a", path: "/\(number)", fields: ["x-\(number)": "y"],
        body: Array(repeating: 7, count: number * 20))
      let slot = client.prepare(try RequestTemplate(request), values: [], body: request.body)
      #expect(client.submit(slot))
    }
    let good = try output(of: client)
    let server = HTTP2ServerSession()
    // The first 24 bytes are the preface, which ends the story at once when it is damaged.
    let bytes = Array(good[..<24]) + damaged(Array(good[24...]), by: &random)
    for piece in pieces(of: bytes, upTo: 40, &random) {
      guard serve(piece, server) else { return }
    }
  }

  @Test(arguments: 0..<300)
  func `do not upset a client's session, nor lose a request in it`(seed: Int) throws {
    var random = SplitMix(state: UInt64(seed))
    let (client, slots, good) = try conversation()
    let bytes = damaged(good, by: &random)
    var ends: [Int: Int] = [:]
    for piece in pieces(of: bytes, upTo: 40, &random) {
      guard take(piece, client, &ends) else { break }
    }
    let lost = ExchangeFailure(.connectionLost, "the test is over")
    for slot in slots where ends[slot] == nil {
      _ = client.abandon(slot, lost)
      ends[slot] = 1
    }
    #expect(ends.values.allSatisfy { $0 == 1 })
    #expect(client.slotsInUse == 0)
  }

  /// - Returns: false when the session is over.
  private func serve(_ piece: [UInt8], _ server: HTTP2ServerSession) -> Bool {
    guard (try? server.receive(piece.span.bytes)) != nil else { return false }
    server.takeEvents { event in
      guard case .requestReceived(_, let streamID) = event else { return }
      server.respond(streamID: streamID, status: 200, fields: [:], body: [1, 2, 3])
    }
    return (try? output(of: server)) != nil
  }

  /// - Returns: false when the session is over.
  private func take(
    _ piece: [UInt8], _ client: HTTP2ClientSession, _ ends: inout [Int: Int]
  ) -> Bool {
    let isGood = (try? client.receive(piece.span.bytes)) != nil
    client.takeEvents { _ in }
    client.takeClosed { index, _ in ends[index, default: 0] += 1 }
    let isWritten = (try? output(of: client)) != nil
    client.takeClosed { index, _ in ends[index, default: 0] += 1 }
    return isGood && isWritten
  }

  /// Bytes that mean something in a head.
  private static let telling: [UInt8] = [0x0a, 0x0d, 0x20, 0x3a, 0x00, 0xff]

  /// A client with requests under way, and what a server answers.
  private func conversation() throws -> (HTTP2ClientSession, [Int], [UInt8]) {
    let client = HTTP2ClientSession()
    let server = HTTP2ServerSession()
    let request = HTTPRequest(method: "GET", authority: "a", path: "/")
    let template = try RequestTemplate(request)
    let slots = (0..<6).map { _ in client.prepare(template, values: [], body: []) }
    for slot in slots { #expect(client.submit(slot)) }
    let requests = try output(of: client)
    try server.receive(requests.span.bytes)
    for stream in 0..<5 {
      server.respond(
        streamID: Int32(stream * 2 + 1), status: 200, fields: ["apns-id": "\(stream)"],
        body: Array(repeating: 7, count: stream * 30))
    }
    server.reset(streamID: 11, errorCode: HTTP2ErrorCode.refusedStream)
    var bytes = try output(of: server)
    server.goAway(lastStreamID: nil, errorCode: 0, debugData: Array("{}".utf8))
    bytes += try output(of: server)
    return (client, slots, bytes)
  }

  private func output(of client: HTTP2ClientSession) throws -> [UInt8] {
    var all: [UInt8] = []
    try client.takeOutput { bytes in
      bytes.withUnsafeBytes { all.append(contentsOf: $0) }
      return true
    }
    return all
  }

  private func output(of server: HTTP2ServerSession) throws -> [UInt8] {
    var all: [UInt8] = []
    try server.takeOutput { bytes in
      bytes.withUnsafeBytes { all.append(contentsOf: $0) }
      return true
    }
    return all
  }

  /// What a parser makes of bytes, as text to compare.
  private func outline(_ bytes: [UInt8], pieces size: Int, _ random: inout SplitMix) -> String {
    var parser = HTTP1RequestParser()
    var text = ""
    for start in stride(from: 0, to: bytes.count, by: max(size, 1)) {
      parser.feed(Array(bytes[start..<min(start + size, bytes.count)]).span.bytes)
      do {
        try read(&parser, into: &text)
      } catch {
        return text + "\(error)"
      }
    }
    return text
  }

  private func read(_ parser: inout HTTP1RequestParser, into text: inout String) throws {
    while let event = try parser.next() {
      switch event {
      case .head(let head):
        text += "\(head.request) \(head.keepsAlive) "
        try parser.beginBody(limit: 64)
      case .end(let body): text += "\(body);"
      }
    }
  }

  private func damaged(_ good: [UInt8], by random: inout SplitMix) -> [UInt8] {
    var bytes = good
    for _ in 0..<Int.random(in: 1...4, using: &random) where bytes.count > 1 {
      let place = Int.random(in: 0..<bytes.count, using: &random)
      switch Int.random(in: 0..<5, using: &random) {
      case 0: bytes[place] = .random(in: 0...255, using: &random)
      case 1: bytes[place] ^= 1 << UInt8.random(in: 0..<8, using: &random)
      case 2: bytes.remove(at: place)
      case 3: bytes.insert(Self.telling[Int.random(in: 0..<6, using: &random)], at: place)
      default:
        let end = min(place + Int.random(in: 1...30, using: &random), bytes.count)
        bytes.insert(
          contentsOf: bytes[place..<end], at: Int.random(in: 0...bytes.count, using: &random))
      }
    }
    return bytes
  }

  private func pieces(of bytes: [UInt8], upTo limit: Int, _ random: inout SplitMix) -> [[UInt8]] {
    var rest = bytes[...]
    var pieces: [[UInt8]] = []
    while !rest.isEmpty {
      let count = min(rest.count, Int.random(in: 1...limit, using: &random))
      pieces.append(Array(rest.prefix(count)))
      rest = rest.dropFirst(count)
    }
    return pieces
  }
}

/// A small generator whose seed is the whole story of a failure (Steele, Lea and Flood, 2014).
private struct SplitMix: RandomNumberGenerator {
  var state: UInt64

  mutating func next() -> UInt64 {
    state &+= 0x9e37_79b9_7f4a_7c15
    var mixed = state
    mixed = (mixed ^ (mixed >> 30)) &* 0xbf58_476d_1ce4_e5b9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94d0_49bb_1331_11eb
    return mixed ^ (mixed >> 31)
  }
}
