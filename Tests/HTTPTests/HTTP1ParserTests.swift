import HTTP
import Testing

/// Bytes of requests, and what a strict server makes of them.
private struct Verdict: CustomTestStringConvertible, Sendable {
  var name: String
  var text: String
  /// nil when the request is good.
  var status: Int?

  var testDescription: String { name }
}

private let head = "GET / HTTP/1.1\r\n"
private let host = "Host: a\r\n"

private let corpus: [Verdict] = [
  .init(name: "the least that is good", text: head + host + "\r\n"),
  .init(name: "an empty line before it", text: "\r\n" + head + host + "\r\n"),
  .init(name: "two empty lines before it", text: "\r\n\r\n" + head + host + "\r\n", status: 400),
  .init(name: "a whole URL", text: "GET http://b/x?y HTTP/1.1\r\n" + host + "\r\n"),
  .init(
    name: "a URL without host", text: "GET http:///x HTTP/1.1\r\n" + host + "\r\n", status: 400),
  .init(name: "OPTIONS of all", text: "OPTIONS * HTTP/1.1\r\n" + host + "\r\n"),
  .init(name: "GET of all", text: "GET * HTTP/1.1\r\n" + host + "\r\n", status: 400),
  .init(name: "no leading slash", text: "GET x HTTP/1.1\r\n" + host + "\r\n", status: 400),
  .init(name: "a fragment", text: "GET /#x HTTP/1.1\r\n" + host + "\r\n", status: 400),
  .init(name: "CONNECT", text: "CONNECT a:1 HTTP/1.1\r\n" + host + "\r\n", status: 400),
  .init(name: "a tab in the path", text: "GET /\tx HTTP/1.1\r\n" + host + "\r\n", status: 400),
  .init(name: "two blanks", text: "GET  / HTTP/1.1\r\n" + host + "\r\n", status: 400),
  .init(
    name: "a blank behind the version", text: "GET / HTTP/1.1 \r\n" + host + "\r\n", status: 400),
  .init(name: "a method that is no token", text: "G(T / HTTP/1.1\r\n" + host + "\r\n", status: 400),
  .init(name: "no version", text: "GET /\r\n" + host + "\r\n", status: 400),
  .init(name: "another protocol", text: "GET / FTP/1.1\r\n" + host + "\r\n", status: 400),
  .init(name: "HTTP/1.2", text: "GET / HTTP/1.2\r\n" + host + "\r\n", status: 505),
  .init(name: "HTTP/2's preface", text: "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", status: 505),
  .init(name: "HTTP/1.0 without Host", text: "GET / HTTP/1.0\r\n\r\n"),
  .init(
    name: "HTTP/1.0 with chunks",
    text: "POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", status: 400),
  .init(name: "a TLS greeting", text: "\u{16}\u{3}\u{1}\u{2}\n", status: 400),
  .init(name: "a bare line feed in the head", text: "GET / HTTP/1.1\nHost: a\n\n", status: 400),
  .init(name: "a bare line feed at its end", text: head + host + "\n", status: 400),
  .init(name: "a carriage return in a value", text: head + host + "x: a\rb\r\n\r\n", status: 400),
  .init(name: "NUL in a value", text: head + host + "x: a\0b\r\n\r\n", status: 400),
  .init(name: "a blank before the colon", text: head + "Host : a\r\n\r\n", status: 400),
  .init(name: "a blank before the name", text: head + host + " x: y\r\n\r\n", status: 400),
  .init(
    name: "a value that goes on in the next line", text: head + host + "x: a\r\n b\r\n\r\n",
    status: 400),
  .init(name: "a line without colon", text: head + host + "x\r\n\r\n", status: 400),
  .init(name: "a name that is empty", text: head + host + ": y\r\n\r\n", status: 400),
  .init(name: "a name with a quote", text: head + host + "\"x\": y\r\n\r\n", status: 400),
  .init(name: "an empty value", text: head + host + "x:\r\n\r\n"),
  .init(name: "blanks around a value", text: head + host + "x: \t y \t\r\n\r\n"),
  .init(name: "bytes above ASCII in a value", text: head + host + "x: é\r\n\r\n"),
  .init(name: "no Host", text: head + "\r\n", status: 400),
  .init(name: "two Hosts", text: head + host + host + "\r\n", status: 400),
  .init(name: "an empty Host", text: head + "Host:\r\n\r\n", status: 400),
  .init(name: "a Host with a path", text: head + "Host: a/b\r\n\r\n", status: 400),
  .init(name: "a Host with a user", text: head + "Host: u@a\r\n\r\n", status: 400),
  .init(name: "an IPv6 Host", text: head + "Host: [::1]:80\r\n\r\n"),
  .init(name: "a length", text: "POST / HTTP/1.1\r\n" + host + "Content-Length: 3\r\n\r\nabc"),
  .init(name: "a length of 0", text: "POST / HTTP/1.1\r\n" + host + "Content-Length: 0\r\n\r\n"),
  .init(
    name: "two lengths", text: head + host + "Content-Length: 3\r\nContent-Length: 4\r\n\r\nabc",
    status: 400),
  .init(
    name: "one length twice",
    text: head + host + "Content-Length: 3\r\nContent-Length: 3\r\n\r\nabc", status: 400),
  .init(
    name: "a list of lengths", text: head + host + "Content-Length: 3, 3\r\n\r\nabc", status: 400),
  .init(name: "a signed length", text: head + host + "Content-Length: +3\r\n\r\nabc", status: 400),
  .init(
    name: "a negative length", text: head + host + "Content-Length: -3\r\n\r\nabc", status: 400),
  .init(
    name: "a hexadecimal length", text: head + host + "Content-Length: 0x3\r\n\r\nabc", status: 400),
  .init(
    name: "a length in other digits", text: head + host + "Content-Length: ٣\r\n\r\nabc",
    status: 400),
  .init(name: "an empty length", text: head + host + "Content-Length:\r\n\r\n", status: 400),
  .init(
    name: "a length beyond 64 bits",
    text: head + host + "Content-Length: 99999999999999999999\r\n\r\n", status: 400),
  .init(
    name: "a length over the limit", text: head + host + "Content-Length: 101\r\n\r\n", status: 413),
  .init(
    name: "length and chunks",
    text: head + host + "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    status: 400),
  .init(
    name: "chunks and length",
    text: head + host + "Transfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n0\r\n\r\n",
    status: 400),
  .init(name: "chunks", text: chunked("3\r\nabc\r\nA\r\n0123456789\r\n0\r\n\r\n")),
  .init(name: "chunks with an extension", text: chunked("3;a=b\r\nabc\r\n0\r\n\r\n")),
  .init(name: "chunks with trailers", text: chunked("0\r\nx: y\r\n\r\n")),
  .init(name: "a trailer that folds", text: chunked("0\r\n x: y\r\n\r\n"), status: 400),
  .init(
    name: "endless trailers",
    text: chunked(
      "0\r\n" + String(repeating: "x: yyyyyyyyyyyyyyyyyyyyyyyy\r\n", count: 200) + "\r\n"),
    status: 431),
  .init(name: "a chunk without size", text: chunked("\r\nabc\r\n0\r\n\r\n"), status: 400),
  .init(name: "a chunk size with 0x", text: chunked("0x3\r\nabc\r\n0\r\n\r\n"), status: 400),
  .init(name: "a chunk size with a blank", text: chunked("3 \r\nabc\r\n0\r\n\r\n"), status: 400),
  .init(
    name: "a chunk size of nine digits", text: chunked("000000003\r\nabc\r\n0\r\n\r\n"), status: 400
  ),
  .init(
    name: "a chunk that is longer than it says", text: chunked("2\r\nabc\r\n0\r\n\r\n"), status: 400
  ),
  .init(
    name: "a chunk that ends in a bare line feed", text: chunked("3\r\nabc\n0\r\n\r\n"), status: 400
  ),
  .init(
    name: "a chunk size that ends in a bare line feed", text: chunked("3\nabc\r\n0\r\n\r\n"),
    status: 400),
  .init(name: "a huge chunk", text: chunked("ffffffff\r\n"), status: 413),
  .init(
    name: "chunks over the limit together",
    text: chunked("40\r\n" + String(repeating: "x", count: 64) + "\r\n40\r\n"), status: 413),
  .init(
    name: "an encoding twice",
    text: "POST / HTTP/1.1\r\n" + host
      + "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", status: 400),
  .init(
    name: "gzip, chunked",
    text: "POST / HTTP/1.1\r\n" + host + "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
    status: 501),
  .init(
    name: "xchunked",
    text: "POST / HTTP/1.1\r\n" + host + "Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n", status: 501
  ),
  .init(
    name: "identity", text: "POST / HTTP/1.1\r\n" + host + "Transfer-Encoding: identity\r\n\r\n",
    status: 501),
  .init(
    name: "an expectation", text: head + host + "Expect: 100-continue\r\nContent-Length: 1\r\n\r\nx"
  ),
  .init(name: "an unknown expectation", text: head + host + "Expect: 200-ok\r\n\r\n", status: 417),
  .init(name: "64 fields", text: head + host + String(repeating: "x: y\r\n", count: 63) + "\r\n"),
  .init(
    name: "65 fields", text: head + host + String(repeating: "x: y\r\n", count: 64) + "\r\n",
    status: 431),
  .init(
    name: "a head of 16 KB",
    text: head + host + "x: " + String(repeating: "y", count: 16_384) + "\r\n\r\n", status: 431),
  .init(name: "a line that never ends", text: String(repeating: "y", count: 17_000), status: 431),
]

private func chunked(_ body: String) -> String {
  "POST / HTTP/1.1\r\n" + host + "Transfer-Encoding: chunked\r\n\r\n" + body
}

@Suite struct `The HTTP/1.1 request parser` {
  @Test(arguments: corpus)
  private func `judges`(_ verdict: Verdict) {
    let bytes = Array(verdict.text.utf8)
    #expect(status(feeding: [bytes]) == (verdict.status ?? 200))
    // However the bytes come in, the verdict is the same.
    #expect(status(feeding: bytes.map { [$0] }) == (verdict.status ?? 200))
    for cut in stride(from: 1, to: min(bytes.count, 120), by: 3) {
      #expect(
        status(feeding: [Array(bytes[..<cut]), Array(bytes[cut...])]) == (verdict.status ?? 200))
    }
  }

  @Test func `reads what a request says`() throws {
    let text =
      "POST /v1/trips?x=1 HTTP/1.1\r\nHost: api.example:8080\r\nContent-Type: application/json\r\n"
      + "X: 1\r\nx:2\r\nContent-Length: 4\r\n\r\n{\"\"}"
    let (head, body) = try #require(try parse(text).first)
    #expect(head.request.method == "POST")
    #expect(head.request.authority == "api.example:8080")
    #expect(head.request.path == "/v1/trips?x=1")
    #expect(head.request.fields.all("x") == ["1", "2"])
    #expect(head.request.fields["content-type"] == "application/json")
    #expect(head.keepsAlive)
    #expect(body == Array("{\"\"}".utf8))
  }

  @Test func `puts chunks together`() throws {
    let (_, body) = try #require(try parse(chunked("3\r\nabc\r\n2;x\r\nde\r\n0\r\n\r\n")).first)
    #expect(body == Array("abcde".utf8))
  }

  @Test func `takes the host of a whole URL`() throws {
    let (head, _) = try #require(
      try parse("GET HTTP://b.example?q HTTP/1.1\r\nHost: a\r\n\r\n").first)
    #expect(head.request.authority == "b.example")
    #expect(head.request.path == "/?q")
  }

  @Test func `reads requests that were sent in a row`() throws {
    let requests = try parse(
      "GET /1 HTTP/1.1\r\nHost: a\r\n\r\n" + chunked("1\r\nx\r\n0\r\n\r\n")
        + "GET /3 HTTP/1.1\r\nHost: a\r\nConnection: Keep-Alive, Close\r\n\r\n")
    #expect(requests.map(\.0.request.path) == ["/1", "/", "/3"])
    #expect(requests.map(\.0.keepsAlive) == [true, true, false])
  }

  @Test func `knows whether a request has begun`() throws {
    var parser = HTTP1RequestParser()
    #expect(!parser.isInMessage)
    parser.feed(Array("G".utf8).span.bytes)
    #expect(try parser.next() == nil)
    #expect(parser.isInMessage)
  }

  /// The status that the bytes are answered with: 200 when all of them were read as requests, 0
  /// when they are no whole request yet.
  private func status(feeding parts: [[UInt8]]) -> Int {
    var parser = HTTP1RequestParser()
    var isComplete = false
    do throws(HTTP1Error) {
      for part in parts {
        parser.feed(part.span.bytes)
        while let event = try parser.next() {
          switch event {
          case .head: try parser.beginBody(limit: 100)
          case .end: isComplete = true
          }
        }
      }
    } catch {
      return error.status
    }
    return isComplete ? 200 : 0
  }

  private func parse(_ text: String) throws -> [(HTTP1RequestHead, [UInt8])] {
    var parser = HTTP1RequestParser()
    parser.feed(Array(text.utf8).span.bytes)
    var requests: [(HTTP1RequestHead, [UInt8])] = []
    var head: HTTP1RequestHead?
    while let event = try parser.next() {
      switch event {
      case .head(let read):
        head = read
        try parser.beginBody(limit: 1_000)
      case .end(let body): requests.append((try #require(head), body))
      }
    }
    return requests
  }
}

@Suite struct `The HTTP/1.1 answer parser` {
  @Test(arguments: [
    ("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", "200 ok alive"),
    ("HTTP/1.1 200\r\nContent-Length: 2\r\n\r\nok", "200 ok alive"),
    (
      "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 201 Created\r\nContent-Length: 0\r\n\r\n", "201  alive"
    ),
    ("HTTP/1.1 204 No Content\r\n\r\n", "204  alive"),
    ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n", "200 ok alive"),
    ("HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nok", "200 ok over"),
    ("HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok", "200 ok over"),
    ("HTTP/1.1 200 OK\r\nContent-Length: 200\r\n\r\n", "413"),
    ("HTTP/1.1 2000 OK\r\n\r\n", "400"), ("HTTP/2 200\r\n\r\n", "400"),
    ("HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 2\r\n\r\nok", "400"),
  ])
  func `reads`(_ text: String, _ expected: String) {
    for size in [1, 7, text.utf8.count] {
      var parser = HTTP1ResponseParser(bodyLimit: 100)
      parser.expectAnswer(to: "GET")
      #expect(summary(&parser, text, size: size) == expected)
    }
  }

  @Test func `expects no body for HEAD`() {
    var parser = HTTP1ResponseParser(bodyLimit: 100)
    parser.expectAnswer(to: "HEAD")
    let text = "HTTP/1.1 200 OK\r\nContent-Length: 2000\r\n\r\n"
    #expect(summary(&parser, text, size: 500) == "200  alive")
  }

  private func summary(_ parser: inout HTTP1ResponseParser, _ text: String, size: Int) -> String {
    var status = ""
    var body: [UInt8] = []
    var end = "cut"
    func note(_ event: HTTP1ResponseParser.Event) {
      switch event {
      case .head(let head): status = "\(head.status)"
      case .body(let part): body += part
      case .end(let keepsAlive): end = keepsAlive ? "alive" : "over"
      }
    }
    do throws(HTTP1Error) {
      let bytes = Array(text.utf8)
      for start in stride(from: 0, to: bytes.count, by: size) {
        parser.feed(Array(bytes[start..<min(start + size, bytes.count)]).span.bytes)
        while let event = try parser.next() { note(event) }
      }
    } catch {
      return "\(error.status)"
    }
    if let event = parser.inputEnded() { note(event) }
    return "\(status) \(String(decoding: body, as: UTF8.self)) \(end)"
  }
}
