import APNsSimulator
import Clocks
import HTTP
import Testing
import Transport

@Suite struct `A client certificate` {
  private let alert = #"{"aps":{"alert":"x"}}"#

  private func world(
    _ certificate: RegisteredCertificate
  ) throws -> (world: World, token: String) {
    var world = try World()
    world.push = ConnectionMemory(
      world.apns.configuration.connections, certificateUserID: certificate.userID)
    world.apns.register(certificate)
    let phone = try world.apns.addPhone(PhoneSettings(bundleID: World.bundleID))
    return (world, phone.deviceToken)
  }

  @Test func `needs no provider token, and does not look at one`() throws {
    var (world, token) = try world(.init(userID: World.bundleID, teamID: World.teamID))
    #expect(world.push.maxConcurrentStreams == 1000)
    let request = try world.device(token, alert, type: "alert")
    #expect(world.send(request.with("authorization", nil)).status == 200)
    #expect(world.send(request.with("authorization", "bearer nonsense")).status == 200)
  }

  @Test func `names the topic, unless it has several`() throws {
    var (world, token) = try world(.init(userID: World.bundleID, teamID: World.teamID))
    let request = try world.device(token, alert, type: "alert").with("apns-topic", nil)
    #expect(world.send(request).status == 200)
    world.apns.register(
      RegisteredCertificate(
        userID: World.bundleID, teamID: World.teamID, moreTopics: [World.bundleID + ".voip"]))
    #expect(world.send(request).reasonText == "MissingTopic")
    #expect(world.send(request.with("apns-topic", World.bundleID)).status == 200)
  }

  @Test func `is for its own topics only`() throws {
    var (world, token) = try world(
      .init(
        userID: World.bundleID, teamID: World.teamID, moreTopics: [World.bundleID + ".voip"]))
    let phone = try world.apns.addPhone(PhoneSettings(bundleID: World.bundleID))
    let call = try world.apns.registerForPushes(ofType: "voip", phone: phone.phone)
    let place = try world.apns.registerForPushes(ofType: "location", phone: phone.phone)
    let voip = World.bundleID + ".voip"
    #expect(world.send(try world.device(call, "{}", type: "voip", topic: voip)).status == 200)
    #expect(world.send(try world.device(token, alert, type: "alert")).status == 200)
    let location = try world.device(
      place, "{}", type: "location", topic: World.bundleID + ".location-query")
    #expect(world.send(location).reasonText == "TopicDisallowed")
    world.apns.register(.init(bundleID: "com.example.other", teamID: World.teamID))
    let other = try world.device(token, alert, type: "alert", topic: "com.example.other")
    #expect(world.send(other).reasonText == "TopicDisallowed")
  }

  @Test func `opens the channels of its app, and no other`() throws {
    var (world, _) = try world(.init(userID: World.bundleID, teamID: World.teamID))
    let channelID = try world.createChannel()
    let body = world.update(world.now.wholeSeconds, notes: 1)
    let request = try world.broadcast(channelID, body).with("authorization", nil)
    #expect(world.send(request).status == 200)
    world.apns.register(.init(bundleID: "com.example.other", teamID: World.teamID))
    let other = request.with(path: "/4/broadcasts/apps/com.example.other")
    #expect(world.send(other).reasonText == "TopicMismatch")
  }

  @Test func `is refused when it was revoked, or is unknown or of the other environment`() throws {
    var (world, token) = try world(.init(userID: World.bundleID, teamID: World.teamID))
    let request = try world.device(token, alert, type: "alert")
    world.apns.revokeCertificate(World.bundleID)
    #expect(world.send(request).reasonText == "BadCertificate")
    #expect(world.send(request).status == 403)
    let abroad = RegisteredCertificate(
      userID: World.bundleID, teamID: World.teamID, environments: [.production])
    world.apns.register(abroad)
    #expect(world.send(request).reasonText == "BadCertificateEnvironment")
    world.push = ConnectionMemory(
      world.apns.configuration.connections, certificateUserID: "com.example.nobody")
    #expect(world.send(request).reasonText == "BadCertificate")
  }

  @Test func `is read from the subject`() {
    let subject = "/CN=Apple Push Services: com.example.trains/UID=com.example.trains/C=GB"
    #expect(RegisteredCertificate.userID(inSubject: subject) == "com.example.trains")
    #expect(RegisteredCertificate.userID(inSubject: "/CN=x") == nil)
  }

  @Test func `works on the wire`() async throws {
    try await LiveWorld.with { world in
      let identity = try #require(world.simulator.access.clientIdentity)
      let bundleID = world.bundleID
      let token = try await world.simulator.run { apns, _ throws(PhoneError) in
        try apns.addPhone(PhoneSettings(bundleID: bundleID)).deviceToken
      }
      // Twice, since a second connection may resume the session of the first.
      for _ in 1...2 {
        let client = try await connect(world, identity)
        #expect(await client.streamLimit == 1000)
        let request = HTTPRequest(
          method: "POST", authority: "localhost", path: "/3/device/\(token)",
          fields: ["apns-push-type": "alert"], body: Array(alert.utf8))
        #expect(await client.send(request, deadline: LiveWorld.patience).response?.status == 200)
        await client.close()
      }
    }
  }

  @Test func `of the other environment is sent away with nothing processed`() async throws {
    try await LiveWorld.with { world in
      let abroad = RegisteredCertificate(
        userID: world.bundleID, teamID: world.simulator.access.teamID, environments: [.production])
      let client = try await connect(world, try await world.simulator.issue(abroad))
      let outcome = await client.send(world.list, deadline: LiveWorld.patience)
      if case .notSent = outcome {} else { Issue.record("\(outcome)") }
      let goAway = try #require(await client.goAway)
      #expect(goAway.reasonText == #"{"reason":"BadCertificateEnvironment"}"#)
      #expect(goAway.lastStreamID == 0)
    }
  }

  private func connect(_ world: LiveWorld, _ identity: TLSIdentity) async throws -> HTTP2Client {
    let access = world.simulator.access
    let tls = try TLSClientContext(
      trust: .pem(access.trustPEM), alpn: ["h2"], identity: identity)
    return try await HTTP2Client.connect(
      to: .tcp(host: "127.0.0.1", port: access.pushPort), tls: tls, on: world.loop)
  }
}
