import Clocks
import Testing

@testable import FieldTrips

@Suite struct `A request for a notification` {
  private let now = UnixTime(wholeSeconds: 1_790_000_000)

  private func read(_ text: String) throws(Refusal) -> NotificationRequest {
    try NotificationRequest.read(Array(text.utf8), now: now)
  }

  /// The paths and codes of what is wrong.
  private func problems(_ text: String) -> [String] {
    do throws(Refusal) {
      _ = try read(text)
      return []
    } catch {
      return error.problems.map { "\($0.path) \($0.code.rawValue)" }
    }
  }

  @Test func `is read with every member`() throws {
    let request = try read(
      #"""
      {"to":{"member":"ada"},"kind":"alert","bundleID":"com.example.trips","priority":5,
       "alert":{"title":"Birds","subtitle":{"key":"SUB"},"launchImage":"start",
                "body":{"key":"NEW","arguments":["3","Meadow"]}},
       "badge":0,"sound":{"name":"bell.caf","critical":true,"volume":0.5},"threadID":"t",
       "category":"c","targetContentID":"w","interruptionLevel":"time-sensitive","relevance":0.25,
       "filterCriteria":"f","mutableContent":true,"collapseID":"x",
       "sendAt":1790000600,"expiresAt":1790001000,"custom":{"a" : 1.50,"b":{"\u0063":[ ]}}}
      """#)
    #expect(request.recipient == .member(try MemberID("ada")))
    #expect(request.kind == .alert)
    #expect(request.priority == 5)
    var content = NotificationContent()
    content.title = .plain("Birds")
    content.subtitle = .localized(key: "SUB", arguments: [])
    content.body = .localized(key: "NEW", arguments: ["3", "Meadow"])
    content.launchImage = "start"
    content.badge = 0
    content.sound = .critical(name: "bell.caf", volume: 0.5)
    content.threadID = "t"
    content.category = "c"
    content.targetContentID = "w"
    content.interruptionLevel = "time-sensitive"
    content.relevance = 0.25
    content.filterCriteria = "f"
    content.isMutable = true
    #expect(request.content == content)
    #expect(request.collapseID == "x")
    #expect(request.sendAt == now + .seconds(600))
    #expect(request.expiresAt == now + .seconds(1_000))
    let custom = request.custom.map {
      "\($0.key)=\(String(decoding: $0.value.bytes, as: UTF8.self))"
    }
    #expect(custom == ["a=1.50", #"b={"\u0063":[ ]}"#])
  }

  @Test(
    arguments: [
      (#"{}"#, ["/to missingField"]),
      (#"{"to":{},"badge":1}"#, ["/to/member badValue"]),
      (
        #"{"to":{"member":"a","trip":"0c9d3a52-6a0e-4d4b-9f3e-0a5b6c7d8e9f"},"badge":1}"#,
        ["/to/member badValue"]
      ),
      (#"{"to":{"member":"a","only":"withoutCard"},"badge":1}"#, ["/to/only badValue"]),
      (#"{"to":{"member":"a"}}"#, ["/alert missingField"]),
      (#"{"to":{"member":"a"},"alert":{}}"#, ["/alert missingField"]),
      (#"{"to":{"member":"a"},"alert":{"text":"x"}}"#, ["/alert/text unknownField"]),
      (
        #"{"to":{"member":"a"},"alert":{"body":{"key":"K","arguments":[1]}}}"#,
        ["/alert/body/arguments wrongType"]
      ),
      (#"{"to":{"member":"a"},"badge":-1}"#, ["/badge badValue"]),
      (#"{"to":{"member":"a"},"sound":{"name":"x","volume":0.5}}"#, ["/sound/volume badValue"]),
      (#"{"to":{"member":"a"},"sound":"x","relevance":1.5}"#, ["/relevance badValue"]),
      (#"{"to":{"member":"a"},"sound":"x","mutableContent":true}"#, ["/mutableContent badValue"]),
      (#"{"to":{"member":"a"},"sound":"x","priority":7}"#, ["/priority badValue"]),
      (#"{"to":{"member":"a"},"kind":"background","priority":10}"#, ["/priority badValue"]),
      (#"{"to":{"member":"a"},"kind":"background","badge":1}"#, ["/badge badValue"]),
      (#"{"to":{"member":"a"},"kind":"widget","custom":{"a":1}}"#, ["/custom badValue"]),
      (#"{"to":{"member":"a"},"sound":"x","custom":{"aps":{}}}"#, ["/custom badValue"]),
      (#"{"to":{"member":"a"},"sound":"x","sendAt":1789990000}"#, ["/sendAt badTime"]),
      (#"{"to":{"member":"a"},"sound":"x","sendAt":1798000000}"#, ["/sendAt badTime"]),
      (#"{"to":{"member":"a"},"sound":"x","sendAt":1790000000000}"#, ["/sendAt badDate"]),
      (#"{"to":{"member":"a"},"sound":"x","expiresAt":1790000000}"#, ["/expiresAt badTime"]),
      (
        #"{"to":{"member":"a"},"sound":"x","expiresAt":1790000009,"attemptOnce":true}"#,
        ["/expiresAt badValue"]
      ),
      (
        #"{"to":{"member":"a"},"sound":"x","source":{"name":"n","url":"https://h.example/x","several":{"body":"{count}"}}}"#,
        ["/alert missingField"]
      ),
      (
        #"{"to":{"member":"a"},"alert":{"body":"b"},"source":{"name":"n","url":"https://h.example/x"}}"#,
        ["/source/several missingField"]
      ),
      (
        #"{"to":{"member":"a"},"alert":{"body":"b"},"source":{"name":"n","url":"https://h.example/x","several":{"body":"{counts} new"}}}"#,
        ["/source/several/body badValue"]
      ),
    ] as [(String, [String])])
  func `is refused with the path of what is wrong`(text: String, expected: [String]) {
    #expect(problems(text) == expected)
  }

  @Test func `of a time just past is sent at once`() throws {
    let request = try read(#"{"to":{"member":"a"},"sound":"x","sendAt":1789999900}"#)
    #expect(request.sendAt(from: now) == now)
  }
}

@Suite struct `A content source's address` {
  @Test(arguments: [
    ("https://notes.example.com/a?b=c", "notes.example.com 443 /a?b=c"),
    ("HTTPS://Notes.Example.COM", "notes.example.com 443 /"),
    ("https://h.example:8443?x", "h.example 8443 /?x"),
    ("https://localhost/x", "localhost 443 /x"),
  ])
  func `is taken apart`(text: String, parts: String) throws {
    let url = try ContentURL(text)
    #expect("\(url.host) \(url.port) \(url.path)" == parts)
  }

  @Test(arguments: ["http://h.example/", "ftp://h.example/", "h.example/x", "", "https:/h.example"])
  func `is refused without TLS`(text: String) {
    #expect(throws: IdentifierError.self) { try ContentURL(text) }
  }

  /// What stands behind the two slashes.
  @Test(arguments: [
    "", "/x", "user@h.example/", "h.example@10.0.0.1/", "127.0.0.1/", "2130706433/",
    "0x7f000001/", "127.1/", "[::1]/", "h.example:0/", "h.example:99999/", "h.example:443:1/",
    "h.example./", "h..example/", "-h.example/", "h_x.example/", "hé.example/", "h.example/#f",
    "h.example\\@10.0.0.1/", "h.example/a b", "h.example/\u{7}", "h.example:+443/",
  ])
  func `is refused when it is not the plain name of a host`(rest: String) {
    #expect(throws: IdentifierError.self) { try ContentURL("https:/" + "/" + rest) }
  }

  @Test func `asks for pages behind a cursor`() throws {
    let plain = try ContentURL("https://h.example/n")
    #expect(plain.page(after: nil, limit: 100) == "/n?limit=100")
    #expect(plain.page(after: "a b&c=é", limit: 9) == "/n?after=a%20b%26c%3D%C3%A9&limit=9")
    let query = try ContentURL("https://h.example/n?trip=7")
    #expect(query.page(after: "x", limit: 1) == "/n?trip=7&after=x&limit=1")
  }
}
