import HTTP
import Testing

@testable import APNs

@Suite struct `Channel management` {
  private let host = "api-manage-broadcast.push.apple.com"
  private let channel = ChannelID("dHN0LXNyY2gtY2hubA==")

  private func request(_ call: ChannelManagement.Call) throws -> HTTPRequest {
    ChannelManagement.request(
      call, app: try BundleID("com.example.trains"), authority: "\(host):2196",
      authorization: "bearer t", requestID: "r")
  }

  private func answer(_ status: Int, _ body: String, _ fields: HTTPFields = [:]) -> HTTPResponse {
    HTTPResponse(status: status, fields: fields, body: Array(body.utf8))
  }

  @Test func `asks as Apple's page says`() throws {
    let channel = try #require(channel)
    let create = try request(.create(.mostRecent))
    #expect(create.method == "POST")
    #expect(create.path == "/1/apps/com.example.trains/channels")
    #expect(create.authority == "\(host):2196")
    #expect(create.fields["authorization"] == "bearer t")
    #expect(create.fields["apns-request-id"] == "r")
    #expect(create.fields["apns-channel-id"] == nil)
    #expect(
      String(decoding: create.body, as: UTF8.self)
        == #"{"message-storage-policy":1,"push-type":"LiveActivity"}"#)
    for (call, method) in [
      (ChannelManagement.Call.read(channel), "GET"), (.delete(channel), "DELETE"),
    ] {
      let request = try request(call)
      #expect(request.method == method)
      #expect(request.path == "/1/apps/com.example.trains/channels")
      #expect(request.fields["apns-channel-id"] == channel.text)
      #expect(request.body.isEmpty)
    }
    let list = try request(.list)
    #expect(list.method == "GET")
    #expect(list.path == "/1/apps/com.example.trains/all-channels")
  }

  @Test func `finds a new channel's ID in the field, not in the body`() throws {
    let created = answer(201, "", ["apns-channel-id": "dHN0LXNyY2gtY2hubA=="])
    #expect(try ChannelManagement.createdChannel(created, host: host) == channel)
    let bodyOnly = answer(201, #"{"apns-channel-id":"dHN0LXNyY2gtY2hubA=="}"#)
    #expect(throws: MalformedReply.self) {
      try ChannelManagement.createdChannel(bodyOnly, host: host)
    }
    #expect(throws: MalformedReply.self) {
      try ChannelManagement.createdChannel(answer(201, "", ["apns-channel-id": "?"]), host: host)
    }
  }

  @Test func `reads the storage policy`() throws {
    let channel = try #require(channel)
    for storage in ChannelStorage.allCases {
      let body = #"{"message-storage-policy":\#(storage.rawValue),"push-type":"LiveActivity"}"#
      #expect(
        try ChannelManagement.storage(answer(200, body), of: channel, host: host) == storage)
    }
  }

  @Test(arguments: [
    "{", "", #"{"message-storage-policy":7}"#, #"{"message-storage-policy":"1"}"#, "[]",
  ])
  func `makes an error of an answer that it cannot read`(body: String) throws {
    let channel = try #require(channel)
    do {
      _ = try ChannelManagement.storage(answer(200, body), of: channel, host: host)
      Issue.record("accepted")
    } catch {
      #expect(error.host == host)
      #expect(error.channelID == channel)
      #expect("\(error)".contains(host))
      #expect("\(error)".contains(channel.text))
      #expect(body.isEmpty ? "\(error)".contains("empty body") : error.excerpt == body)
    }
  }

  @Test func `lists channels`() throws {
    let list = answer(200, #"{"channels":["dHN0LXNyY2gtY2hubA==","AAAA"]}"#)
    #expect(
      try ChannelManagement.channels(list, host: host).map(\.text)
        == ["dHN0LXNyY2gtY2hubA==", "AAAA"])
    #expect(try ChannelManagement.channels(answer(200, #"{"channels":[]}"#), host: host).isEmpty)
    let many = (0..<10_000).map { _ in #""dHN0LXNyY2gtY2hubA==""# }.joined(separator: ",")
    #expect(
      try ChannelManagement.channels(answer(200, #"{"channels":[\#(many)]}"#), host: host).count
        == 10_000)
  }

  @Test(arguments: ["", "{}", #"{"channels":7}"#, #"{"channels":[7]}"#, #"{"channels":["?"]}"#])
  func `concludes nothing from a list that it cannot read`(body: String) {
    #expect(throws: MalformedReply.self) {
      try ChannelManagement.channels(answer(200, body), host: host)
    }
  }
}

@Suite struct `Identifiers` {
  @Test func `of apps are bundle IDs and not topics`() throws {
    #expect(try BundleID("com.example.field-trips").text == "com.example.field-trips")
    for bad in ["", "a b", "com.example/x", "com.example.trips.push-type.liveactivity", "a.voip"] {
      #expect(throws: InvalidIdentifier.self) { try BundleID(bad) }
    }
  }

  @Test func `of devices are hexadecimal of any length, and do not show`() throws {
    let start = try #require(DeviceToken(String(repeating: "AB", count: 80)))
    #expect(start.text == String(repeating: "ab", count: 80))
    #expect("\(start)" == "abab…")
    for bad in ["", "abc", "abcdefg0", "abcdef01/..", String(repeating: "a", count: 514)] {
      #expect(DeviceToken(bad) == nil)
    }
  }

  @Test func `of requests are UUIDs of version 4 and never the same`() {
    var ids = RequestIDs()
    var seen: Set<String> = []
    for _ in 0..<10_000 {
      let id = ids.next()
      let parts = id.split(separator: "-").map(\.utf8.count)
      #expect(parts == [8, 4, 4, 4, 12])
      #expect(Array(id.utf8)[14] == UInt8(ascii: "4"))
      #expect("89ab".utf8.contains(Array(id.utf8)[19]))
      #expect(id == id.lowercased())
      seen.insert(id)
    }
    #expect(seen.count == 10_000)
  }
}
