import HTTP
import Randomness
import Testing

/// Good bytes with random damage: nothing may crash, leak a slot, or give one request two ends.
@Suite struct `Damaged bytes` {
  @Test func `do not upset the request parser`() async {
    let good =
      "POST /v1/trips?x=%20 HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
      + "5;x=y\r\nhello\r\n0\r\nt: u\r\n\r\n"
      + "GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nConnection: close\r\n\r\nabc"
    for seed in Damage.seeds {
      // Others have tests to run on this thread too.
      await Task.yield()
      var random = SplitMix64(seed: UInt64(seed))
      for _ in 0..<4 {
        let bytes = Damage.damaged(Array(good.utf8), by: &random)
        let whole = requests(in: bytes, pieces: bytes.count)
        #expect(whole == requests(in: bytes, pieces: 1), "seed \(seed): the cut decides")
      }
    }
  }

  @Test(arguments: ["POST", "HEAD", "CONNECT"])
  func `do not upset the parser of answers`(method: String) async {
    let good =
      "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n"
      + "Transfer-Encoding: chunked\r\n\r\n5;x=y\r\nhello\r\n0\r\nt: u\r\n\r\n"
      + "HTTP/1.1 407 No\r\nProxy-Authenticate: Basic\r\nContent-Length: 3\r\n\r\nabc"
      + "HTTP/1.0 502 Bad Gateway\r\n\r\nuntil the end"
    for seed in Damage.seeds {
      // Others have tests to run on this thread too.
      await Task.yield()
      var random = SplitMix64(seed: UInt64(seed))
      for _ in 0..<4 {
        let bytes = Damage.damaged(Array(good.utf8), by: &random)
        let whole = answers(in: bytes, to: method, pieces: bytes.count)
        let parts = answers(in: bytes, to: method, pieces: 1)
        #expect(whole.text == parts.text, "seed \(seed): the cut decides")
        #expect(whole.bodyBytes <= bytes.count, "seed \(seed)")
      }
    }
  }

  @Test func `do not upset a server's session`() async throws {
    for seed in Damage.seeds {
      // Others have tests to run on this thread too.
      await Task.yield()
      var random = SplitMix64(seed: UInt64(seed))
      let client = HTTP2ClientSession()
      for number in 0..<6 {
        let request = HTTPRequest(
          method: "POST", authority: "a", path: "/\(number)", fields: ["x-\(number)": "y"],
          body: Array(repeating: 7, count: number * 20))
        let slot = client.prepare(try RequestTemplate(request), values: [], body: request.body)
        #expect(client.submit(slot))
      }
      let good = try ClientTrial.output(of: client.takeOutput)
      let server = HTTP2ServerSession()
      // The first 24 bytes are the preface, which ends the story at once when it is damaged.
      let bytes = Array(good[..<24]) + Damage.damaged(Array(good[24...]), by: &random)
      for piece in Damage.pieces(of: bytes, upTo: 40, &random) where !serve(piece, server) { break }
    }
  }

  @Test func `do not upset a client's session, nor lose a request in it`() async throws {
    for seed in Damage.seeds {
      // Others have tests to run on this thread too.
      await Task.yield()
      var random = SplitMix64(seed: UInt64(seed))
      var trial = try ClientTrial()
      let bytes = Damage.damaged(try trial.answers(), by: &random)
      trial.feed(Damage.pieces(of: bytes, upTo: 40, &random))
      trial.end()
      #expect(trial.faults.isEmpty, "seed \(seed): \(trial.faults)")
    }
  }

  /// - Returns: false when the session is over.
  private func serve(_ piece: [UInt8], _ server: HTTP2ServerSession) -> Bool {
    guard (try? server.receive(piece.span.bytes)) != nil else { return false }
    server.takeEvents { event in
      guard case .requestReceived(_, let streamID) = event else { return }
      server.respond(streamID: streamID, status: 200, fields: [:], body: [1, 2, 3])
    }
    return (try? ClientTrial.output(of: server.takeOutput)) != nil
  }

  /// What a parser makes of bytes, as text to compare.
  private func requests(in bytes: [UInt8], pieces size: Int) -> String {
    var parser = HTTP1RequestParser()
    var text = ""
    for start in stride(from: 0, to: bytes.count, by: max(size, 1)) {
      parser.feed(Array(bytes[start..<min(start + size, bytes.count)]).span.bytes)
      do {
        while let event = try parser.next() {
          switch event {
          case .head(let head):
            text += "\(head.request) \(head.keepsAlive) "
            try parser.beginBody(limit: 64)
          case .end(let body): text += "\(body);"
          }
        }
      } catch {
        return text + "\(error)"
      }
    }
    return text
  }

  /// Asks again after each answer, as on a connection that is kept.
  private func answers(
    in bytes: [UInt8], to method: String, pieces size: Int
  ) -> (text: String, bodyBytes: Int) {
    var parser = HTTP1ResponseParser(bodyLimit: 64)
    parser.expectAnswer(to: method)
    var (text, body, bodyBytes) = ("", [UInt8](), 0)
    for start in stride(from: 0, to: bytes.count, by: max(size, 1)) {
      parser.feed(Array(bytes[start..<min(start + size, bytes.count)]).span.bytes)
      do {
        while let event = try parser.next() {
          switch event {
          case .head(let head): text += "\(head) "
          case .body(let part):
            body += part
            bodyBytes += part.count
          case .end(let keepsAlive):
            text += "\(body) \(keepsAlive);"
            body = []
            parser.expectAnswer(to: method)
          }
        }
      } catch {
        // How much of a body came before it was found wrong is a matter of the cut.
        return (text + "\(error)", bodyBytes)
      }
    }
    let isOver = parser.inputEnded() != nil
    return (text + "\(body) \(isOver)", bodyBytes)
  }
}
