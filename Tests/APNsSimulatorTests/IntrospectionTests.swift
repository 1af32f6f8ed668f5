import APNsSimulator
import Clocks
import HTTP
import JSON
import Testing
import Transport

@Suite struct `The introspection listener` {
  private struct Asker {
    let client: HTTP1Client

    func ask(_ method: String, _ path: String, _ body: String = "") async throws -> (
      status: Int, json: JSONValue
    ) {
      let request = HTTPRequest(
        method: method, scheme: "http", authority: "localhost", path: path, fields: [:],
        body: Array(body.utf8))
      let response = try #require(
        await client.send(request, deadline: LiveWorld.patience).response)
      return (response.status, try JSONValue.parse(response.body))
    }
  }

  /// A simulator with one channel, its management connection and an asker.
  private func with(
    _ body: (LiveWorld, Asker, _ channelID: String) async throws -> Void
  ) async throws {
    let configuration = configured {
      $0.listeners.introspectionPort = 0
      $0.delivery = .constant(.zero)
    }
    try await LiveWorld.with(configuration) { world in
      let port = try #require(world.simulator.access.introspectionPort)
      let client = HTTP1Client(endpoint: .tcp(host: "127.0.0.1", port: port), loop: world.loop)
      let channelID = try await world.createChannel(try await world.connect(.management))
      try await body(world, Asker(client: client), channelID)
      await client.close()
    }
  }

  private func encoded(_ channelID: String) -> String { PercentCoding.encode(channelID) }

  @Test func `adds crowds and shows their cards and convergence`() async throws {
    try await with { world, asker, channelID in
      let added = try await asker.ask(
        "POST", "/crowds", #"{"count":1000,"channel":"\#(channelID)"}"#)
      #expect(added.status == 200)
      let phone = try #require(added.json["firstPhone"]?.int64)
      let push = try await world.connect(.push)
      let timestamp = await world.simulator.now.wholeSeconds
      _ = await push.send(
        world.broadcast(channelID, timestamp: timestamp, notes: 3), deadline: LiveWorld.patience)
      let cards = try await asker.ask("GET", "/phones/\(phone)/cards")
      #expect(cards.json[0]?["contentState"]?["notesCaptured"]?.int64 == 3)
      #expect(cards.json[0]?["phase"]?.string == "active")
      let summary = try await asker.ask("GET", "/channels/\(encoded(channelID))/convergence")
      #expect(summary.json["phones"]?.int64 == 1000)
      #expect(summary.json["hasConverged"] == true)
      let history = try await asker.ask("GET", "/phones/\(phone)/history")
      #expect(history.json[0]?["outcome"]?.string == "shown")
      let channel = try await asker.ask("GET", "/channels/\(encoded(channelID))")
      #expect(channel.json["accepted"]?.int64 == 1)
      #expect(channel.json["timestampsStrictlyRise"] == true)
      #expect(channel.json["broadcasts"]?[0]?["timestamp"]?.int64 == timestamp)
    }
  }

  @Test func `counts what was asked and answered`() async throws {
    try await with { _, asker, channelID in
      let stats = try await asker.ask("GET", "/stats")
      #expect(stats.json["byStatus"]?["201"]?.int64 == 1)
      #expect(stats.json["requests"]?["channelManagement"]?.int64 == 1)
      let connections = try await asker.ask("GET", "/connections")
      #expect(connections.json[0]?["maxConcurrentStreams"] == [1, 1000])
      let channels = try await asker.ask("GET", "/channels")
      #expect(channels.json[0]?["channel"]?.string == channelID)
      let access = try await asker.ask("GET", "/access")
      #expect(access.json["bundleIDs"] == ["com.example.fieldtrips"])
      let complaints = try await asker.ask("GET", "/complaints")
      #expect(complaints.json["count"] == 0)
    }
  }

  @Test func `makes single phones, and does to them what people do`() async throws {
    try await with { _, asker, channelID in
      let made = try await asker.ask("POST", "/phones", #"{"system":"18.1"}"#)
      let phone = try #require(made.json["phone"]?.int64)
      #expect(made.json["pushToStartToken"]?.string?.isEmpty == false)
      let started = try await asker.ask(
        "POST", "/phones/\(phone)/activities", #"{"channel":"\#(channelID)"}"#)
      let activity = try #require(started.json["activity"]?.int64)
      #expect(started.json["updateToken"] == .null)
      let offline = try await asker.ask("PATCH", "/phones/\(phone)", #"{"online":false}"#)
      #expect(offline.json["online"] == false)
      let gone = try await asker.ask("DELETE", "/phones/\(phone)/activities/\(activity)")
      #expect(gone.status == 200)
      let cards = try await asker.ask("GET", "/phones/\(phone)/cards")
      #expect(cards.json[0]?["phase"]?.string == "dismissed")
    }
  }

  @Test func `sets faults, delivery and the clock`() async throws {
    try await with { world, asker, _ in
      let before = await world.simulator.now
      let advanced = try await asker.ask("POST", "/clock", #"{"advanceSeconds":3600}"#)
      #expect(advanced.status == 200)
      let after = await world.simulator.now
      #expect(after - before >= Duration.seconds(3600))
      let faults = #"{"faults":"429=100%,skew=-5s,goaway=0%x3"}"#
      let accepted = try await asker.ask("POST", "/faults", faults)
      #expect(accepted.status == 200)
      let set = await world.simulator.faults
      #expect(set.throttled.share == 1)
      #expect(set.clockSkew == .seconds(-5))
      #expect(set.goAwayStreamsBack == 3)
      let lossy = try await asker.ask("POST", "/delivery", #"{"lossShare":0.25}"#)
      #expect(lossy.status == 200)
      #expect(await world.simulator.delivery.lossShare == 0.25)
    }
  }

  @Test(arguments: [
    ("POST", "/faults", #"{"faults":"reset=2"}"#, 400), ("POST", "/faults", #"{"stalled":1}"#, 400),
    ("POST", "/faults", "[1]", 400), ("POST", "/faults", "{", 400),
    ("POST", "/crowds", #"{"count":1}"#, 400), ("POST", "/crowds", #"{"channel":1}"#, 400),
    ("POST", "/crowds", #"{"channel":"AAAA"}"#, 404), ("GET", "/phones/99/cards", "", 404),
    ("GET", "/phones/x/cards", "", 400), ("GET", "/channels/AAAA", "", 404),
    ("POST", "/clock", #"{"advanceSeconds":-1}"#, 400), ("GET", "/nothing", "", 404),
    ("POST", "/phones", #"{"system":"x"}"#, 400), ("POST", "/phones/1/tokens", "{}", 400),
    ("POST", "/tokens/abcd", #"{"state":"gone"}"#, 400),
  ])
  func `says what was wrong with a request`(
    _ method: String, _ path: String, _ body: String, _ status: Int
  ) async throws {
    try await with { _, asker, _ in
      let answer = try await asker.ask(method, path, body)
      #expect(answer.status == status)
      #expect(answer.json["detail"]?.string?.isEmpty == false)
    }
  }
}
