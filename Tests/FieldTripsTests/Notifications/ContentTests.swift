import Clocks
import JSON
import Testing

@testable import FieldTrips

@Suite struct `Fetched content` {
  private func page(_ text: String) throws -> ContentPage { try ContentPage.read(Array(text.utf8)) }

  private func template(_ title: String?, _ body: String) -> ContentTemplate {
    ContentTemplate(title: title, body: body)
  }

  @Test func `of several pages becomes one text`() throws {
    let first = try page(
      #"{"items":[{"title":"Meadow","body":"A wren"},{"body":"A jay"}],"cursor":"2","more":true}"#)
    let second = try page(#"{"items":[{"title":"Marsh","body":"A heron"}],"cursor":"3"}"#)
    var content = try #require(FetchedContent(first, after: nil))
    content.add(second)
    #expect(content.count == 3)
    #expect(content.from == nil)
    #expect(content.to == "3")
    let text = template(
      "{last.title}", "{count} new notes, last: {last.body} (first {first.body}, {more} more)")
    let filled = text.filled(from: content)
    #expect(filled.title == "Marsh")
    #expect(filled.body == "3 new notes, last: A heron (first A wren, 2 more)")
  }

  @Test func `leaves braces that are doubled or stand alone`() throws {
    let content = try #require(
      FetchedContent(try page(#"{"items":[{"body":"{count}"}],"cursor":"1"}"#), after: "0"))
    #expect(
      template(nil, "{{count}} {last.body} {").filled(from: content).body == "{count} {count} {")
    #expect(template("{last.title}", "x").filled(from: content).title == nil)
  }

  @Test func `is cut and cleaned, since strangers wrote it`() throws {
    let long = String(repeating: "é", count: 2_000)
    let content = try #require(
      FetchedContent(
        try page("{\"items\":[{\"body\":\"a\\u0007b\\n\(long)\"}],\"cursor\":\"1\"}"), after: nil))
    #expect(content.last.body.utf8.count <= 700)
    #expect(content.last.body.hasPrefix("ab\né"))
    #expect(content.shortened(toBytes: 100).last.body.utf8.count <= 100)
  }

  @Test func `survives being stored`() throws {
    let content = try #require(
      FetchedContent(
        try page(#"{"items":[{"title":"T","body":"B"},{"body":"C"}],"cursor":"c"}"#), after: "b"))
    #expect(FetchedContent(content.json) == content)
  }

  @Test(arguments: [
    #"[]"#, #"{}"#, #"{"items":{}}"#, #"{"items":[{}],"cursor":"1"}"#,
    #"{"items":[{"body":""}],"cursor":"1"}"#, #"{"items":[{"body":"x"}]}"#,
    #"{"items":[{"body":"x"}],"cursor":7}"#, #"{"items":[{"body":"x"}],"cursor":""}"#,
    "{\"items\":[{\"body\":\"x\"}],\"cursor\":\"\(String(repeating: "c", count: 513))\"}",
    "{\"items\":[\(String(repeating: #"{"body":"x"},"#, count: 100)){\"body\":\"x\"}],\"cursor\":\"1\"}",
    #"{"items":["#,
  ])
  func `is refused when a page is not as it should be`(text: String) {
    #expect(throws: Refusal.self) { try page(text) }
  }

  @Test func `may be nothing`() throws {
    #expect(FetchedContent(try page(#"{"items":[]}"#), after: "5") == nil)
  }
}

@Suite struct `A pool of tokens` {
  private let now = UnixTime(wholeSeconds: 1_790_000_000)

  private func expect(
    _ pool: inout CredentialPool, at time: UnixTime, _ choice: CredentialPool.Choice,
    sourceLocation: SourceLocation = #_sourceLocation
  ) {
    let picked = pool.pick(at: time)
    #expect(picked == choice, sourceLocation: sourceLocation)
  }

  @Test func `gives them by turns, and rests those that are refused`() {
    var pool = CredentialPool(["a", "b", "c"])
    expect(&pool, at: now, .token("a", index: 0))
    expect(&pool, at: now, .token("b", index: 1))
    let first = [(401, 0), (200, 1), (503, 1)].map {
      pool.answered($0.0, to: $0.1, retryAfter: nil, at: now)
    }
    #expect(first == [true, false, false])
    expect(&pool, at: now, .token("c", index: 2))
    expect(&pool, at: now, .token("b", index: 1))
    let second = [
      pool.answered(429, to: 1, retryAfter: .seconds(5), at: now),
      pool.answered(403, to: 2, retryAfter: nil, at: now),
    ]
    #expect(second == [true, true])
    expect(&pool, at: now, .allResting(until: now + .seconds(5)))
    expect(&pool, at: now + .seconds(5), .token("b", index: 1))
    expect(&pool, at: now + .seconds(900), .token("c", index: 2))
  }

  @Test func `without tokens asks for none`() {
    var pool = CredentialPool([])
    expect(&pool, at: now, CredentialPool.Choice.none)
  }
}

@Suite struct `Allowed hosts` {
  @Test func `are read with their tokens`() throws {
    let hosts = try ContentHosts.read(
      try JSONValue.parse(
        #"{"hosts":[{"host":"Notes.Example","tokens":["t1","t2"]},{"host":"b.example","port":8443}]}"#
      ))
    #expect(hosts.hosts.map(\.name) == ["notes.example", "b.example"])
    #expect(hosts.host(of: try ContentURL("https://notes.example/x"))?.tokens == ["t1", "t2"])
    #expect(hosts.host(of: try ContentURL("https://notes.example:8443/x")) == nil)
    #expect(hosts.host(of: try ContentURL("https://b.example:8443/x")) != nil)
    #expect(hosts.host(of: try ContentURL("https://x.notes.example/")) == nil)
  }

  @Test(arguments: [
    #"{}"#, #"{"hosts":[]}"#, #"{"hosts":[{"host":"10.0.0.1"}]}"#, #"{"hosts":[{"host":"a/b"}]}"#,
    #"{"hosts":[{"host":"a.example","tokens":["x y"]}]}"#,
    #"{"hosts":[{"host":"a.example","tokens":"x"}]}"#, #"{"hosts":[{"host":"a.example"}],"x":1}"#,
  ])
  func `are refused when they are not plain names`(text: String) throws {
    let value = try JSONValue.parse(text)
    #expect(throws: Refusal.self) { try ContentHosts.read(value) }
  }
}
