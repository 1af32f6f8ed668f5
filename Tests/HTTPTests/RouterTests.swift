import Clocks
import HTTP
import Testing
import Transport

@Suite struct `The router` {
  @Test(arguments: [
    ("GET", "/v1/trips", "200 list"),
    ("GET", "/v1/trips?limit=5&cursor=a%2Bb+c", "200 list limit=5 cursor=a+b c"),
    ("GET", "/v1/trips/7", "200 read 7"),
    ("GET", "/v1/trips/warm", "200 warm"),
    ("POST", "/v1/trips/a%2Fb/notes", "200 note a/b"),
    ("GET", "/v1/trips/caf%C3%A9", "200 read café"),
    ("HEAD", "/v1/trips/7", "200 read 7"),
    ("GET", "/v1/trips/", "404"), ("GET", "/v1/trips/7/", "404"), ("GET", "/v2", "404"),
    ("GET", "//v1/trips", "404"), ("GET", "/v1/trips/../trips", "404"),
    ("DELETE", "/v1/trips", "405 GET, HEAD, OPTIONS, POST"),
    ("OPTIONS", "/v1/trips/7/notes", "204 OPTIONS, POST"),
    ("GET", "/v1/trips/%", "400"), ("GET", "/v1/trips/%4", "400"), ("GET", "/v1/trips/%zz", "400"),
    ("GET", "/v1/trips/%00", "400"), ("GET", "/v1/trips/%ff", "400"),
    ("GET", "/v1/trips?x=%ff", "400"),
  ])
  func `takes`(_ method: String, _ path: String, _ expected: String) async throws {
    let reply = await router().handle(
      HTTPRequest(method: method, path: path), try context())
    guard case .response(let response) = reply else {
      Issue.record("a response was expected")
      return
    }
    let said = response.status == 200 ? " \(response.text)" : ""
    let allowed = response.fields["allow"].map { " \($0)" } ?? ""
    #expect("\(response.status)\(said)\(allowed)" == expected)
  }

  @Test func `knows how large a body may be before it comes`() {
    let router = router()
    #expect(router.bodyLimit(for: HTTPRequest(method: "POST", path: "/v1/trips/7/notes")) == 1_000)
    #expect(router.bodyLimit(for: HTTPRequest(method: "POST", path: "/v1/trips")) == 65_536)
    #expect(router.bodyLimit(for: HTTPRequest(method: "POST", path: "/nothing")) == 65_536)
  }

  @Test(arguments: ["a b/ü&=+%~", "", "plain-._~09"])
  func `decodes what it encodes`(_ text: String) {
    #expect(PercentCoding.decode(PercentCoding.encode(text)) == text)
  }

  private func router() -> Router {
    var router = Router()
    router.on("GET", "/v1/trips") { request in
      let items = request.query.list.map { " \($0.name)=\($0.value)" }.joined()
      return text("list" + items)
    }
    router.on("POST", "/v1/trips") { _ in text("create") }
    router.on("GET", "/v1/trips/{trip}") { text("read \($0["trip"])") }
    router.on("GET", "/v1/trips/warm") { _ in text("warm") }
    router.on("POST", "/v1/trips/{trip}/notes", bodyLimit: 1_000) { text("note \($0["trip"])") }
    return router
  }

  private func context() throws -> RequestContext {
    RequestContext(
      peer: "test", isTLS: false, receivedAt: .origin, loop: try EventLoop(name: "unused"))
  }
}

@Suite struct `Dates of HTTP` {
  @Test(arguments: [
    (Int64(784_111_777), "Sun, 06 Nov 1994 08:49:37 GMT"),
    (0, "Thu, 01 Jan 1970 00:00:00 GMT"),
    (951_827_696, "Tue, 29 Feb 2000 12:34:56 GMT"),
    (4_107_542_399, "Sun, 28 Feb 2100 23:59:59 GMT"),
    (-1, "Wed, 31 Dec 1969 23:59:59 GMT"),
  ])
  func `are written as the RFC does`(_ seconds: Int64, _ expected: String) {
    #expect(HTTPDate.text(UnixTime(wholeSeconds: seconds)) == expected)
  }
}

private func text(_ text: String) -> HTTPReply {
  .response(HTTPResponse(status: 200, body: Array(text.utf8)))
}
