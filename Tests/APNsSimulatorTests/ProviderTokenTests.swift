import APNsSimulator
import Clocks
import Crypto
import Testing

@Suite struct `The check of provider tokens` {
  private func answer(_ world: inout World, _ authorization: String?) throws -> SimulatedAnswer {
    let request = try world.management("GET", "all-channels")
    return world.manage(request.with("authorization", authorization))
  }

  private func answer(_ world: inout World, token: String) throws -> SimulatedAnswer {
    try answer(&world, "bearer " + token)
  }

  @Test func `takes a raw signature and a DER one`() throws {
    var world = try World()
    let raw = try world.signer.token(world.now.wholeSeconds)
    #expect(try answer(&world, token: raw).status == 200)
    world = try World()
    let der = try world.signer.token(world.now.wholeSeconds, asDER: true)
    #expect(try answer(&world, token: der).status == 200)
  }

  @Test func `misses what is absent or in another scheme`() throws {
    var world = try World()
    for authorization in [nil, "", "bearer ", "Basic abc", try world.signer.token(0)] {
      let answer = try answer(&world, authorization)
      #expect(answer.status == 403)
      #expect(answer.reasonText == "MissingProviderToken")
    }
  }

  @Test func `refuses bad structure, key, team and signature`() throws {
    var world = try World()
    let now = world.now.wholeSeconds
    let good = try world.signer.token(now)
    let stranger = ProviderSigner(
      key: try .generate(), keyID: World.keyID, teamID: World.teamID)
    let tokens = [
      "a.b", "a.b.c", good + ".x", String(good.dropLast(2)) + "AA",
      try stranger.token(now),
      try world.signer.token(now, head: #"{"alg":"HS256","kid":"KEY1234567"}"#),
      try world.signer.token(now, head: #"{"alg":"ES256","kid":"KEY7654321"}"#),
      try world.signer.token(now, head: #"{"alg":"ES256","kid":"SHORT"}"#),
      try world.signer.token(now, head: #"{"alg":"ES256"}"#),
      try world.signer.token(now, claims: #"{"iss":"TEAM654321","iat":\#(now)}"#),
      try world.signer.token(now, claims: #"{"iss":"TEAM123456","iat":\#(now).5}"#),
      try world.signer.token(now, claims: #"{"iss":"TEAM123456","iat":"\#(now)"}"#),
      try world.signer.token(now, claims: #"{"iss":"TEAM123456"}"#),
    ]
    for token in tokens {
      let answer = try answer(&world, token: token)
      #expect(answer.status == 403)
      #expect(answer.reasonText == "InvalidProviderToken", "\(token)")
    }
  }

  @Test func `lets a token live for an hour to the second`() throws {
    var world = try World()
    let now = world.now.wholeSeconds
    #expect(try answer(&world, token: world.signer.token(now - 3600)).status == 200)
    world = try World()
    let expired = try answer(&world, token: world.signer.token(now - 3601))
    #expect(expired.reasonText == "ExpiredProviderToken")
    #expect(expired.status == 403)
    #expect(try answer(&world, token: world.signer.token(now + 3600)).status == 200)
    world = try World()
    #expect(
      try answer(&world, token: world.signer.token(now + 3601)).reasonText
        == "InvalidProviderToken")
  }

  @Test func `notices expiry of the very token that it accepted before`() throws {
    var world = try World()
    let token = try world.signer.token(world.now.wholeSeconds)
    #expect(try answer(&world, token: token).status == 200)
    world.wait(3601)
    #expect(try answer(&world, token: token).reasonText == "ExpiredProviderToken")
  }

  @Test func `refuses tokens minted less than 20 minutes apart on one connection`() throws {
    var world = try World()
    let start = world.now.wholeSeconds
    let first = try world.signer.token(start)
    #expect(try answer(&world, token: first).status == 200)
    world.wait(1199)
    let early = try answer(&world, token: world.signer.token(start + 1199))
    #expect(early.status == 429)
    #expect(early.reasonText == "TooManyProviderTokenUpdates")
    #expect(try answer(&world, token: first).status == 200)
    world.wait(1)
    #expect(try answer(&world, token: world.signer.token(start + 1200)).status == 200)
  }

  @Test func `refuses a second change within 20 minutes, however far apart the tokens`() throws {
    var world = try World()
    let start = world.now.wholeSeconds
    #expect(try answer(&world, token: world.signer.token(start - 3000)).status == 200)
    #expect(try answer(&world, token: world.signer.token(start)).status == 200)
    world.wait(60)
    #expect(try answer(&world, token: world.signer.token(start - 1300)).status == 429)
  }

  @Test func `does not mind another token on another connection`() throws {
    var world = try World()
    #expect(try answer(&world, token: world.signer.token(world.now.wholeSeconds)).status == 200)
    world.management = ConnectionMemory(ConnectionSettings())
    #expect(
      try answer(&world, token: world.signer.token(world.now.wholeSeconds - 5)).status == 200)
  }

  @Test func `spells the wrong environment as it is told`() throws {
    for spelling in ReasonSpelling.EnvironmentKey.allCases {
      var world = try World { $0.spelling.environmentKey = spelling }
      var key = world.signer.registered
      key.environments = [.production]
      world.apns.register(key)
      let answer = try answer(&world, world.bearer)
      #expect(answer.status == 403)
      #expect(answer.reasonText == spelling.rawValue)
    }
  }

  @Test func `forbids a revoked key`() throws {
    var world = try World()
    #expect(try answer(&world, world.bearer).status == 200)
    world.apns.revokeKey(World.keyID)
    #expect(try answer(&world, world.bearer).reasonText == "Forbidden")
  }

  private func signer(
    _ world: inout World, _ keyID: String, _ scope: RegisteredKey.Scope, related: String? = nil,
    team: String = World.teamID
  ) throws -> ProviderSigner {
    let signer = ProviderSigner(key: try .generate(), keyID: keyID, teamID: team)
    var key = signer.registered
    key.scope = scope
    key.relatedKeyID = related
    world.apns.register(key)
    return signer
  }

  @Test func `binds a connection to the first key, or to its related one`() throws {
    var world = try World()
    let now = world.now.wholeSeconds
    let first = try signer(&world, "TOPICKEY01", .topics([World.bundleID]))
    let related = try signer(
      &world, "TOPICKEY02", .topics([World.bundleID]), related: "TOPICKEY01")
    let other = try signer(&world, "TOPICKEY03", .topics([World.bundleID]))
    #expect(try answer(&world, token: first.token(now)).status == 200)
    #expect(try answer(&world, token: related.token(now)).status == 200)
    let refused = try answer(&world, token: other.token(now))
    #expect(refused.reasonText == "UnrelatedKeyIdInToken")
    #expect(
      try answer(&world, token: world.signer.token(now)).reasonText == "UnrelatedKeyIdInToken")
    let foreign = try signer(&world, "FOREIGNKEY", .team, team: "OTHERTEAM1")
    #expect(try answer(&world, token: foreign.token(now)).reasonText == "InvalidProviderToken")
  }

  @Test func `keeps a topic key to its topics`() throws {
    var world = try World()
    let key = try signer(&world, "TOPICKEY01", .topics(["com.example.other"]))
    let answer = try answer(&world, token: key.token(world.now.wholeSeconds))
    #expect(answer.status == 403)
    #expect(answer.reasonText == "TopicMismatch")
  }

  @Test func `judges by a clock that may be wrong, and shows it`() throws {
    var world = try World { $0.faults.clockSkew = .seconds(4000) }
    let answer = try answer(&world, token: world.signer.token(world.now.wholeSeconds))
    #expect(answer.reasonText == "ExpiredProviderToken")
    #expect(answer.value("date") == "Mon, 21 Sep 2026 15:20:00 GMT")
  }

  @Test func `complains about claims that Apple does not document`() throws {
    var world = try World()
    let now = world.now.wholeSeconds
    let token = try world.signer.token(
      now, claims: #"{"iss":"TEAM123456","iat":\#(now),"exp":\#(now + 60)}"#)
    #expect(try answer(&world, token: token).status == 200)
    #expect(world.apns.complaints.recent.first?.text.contains("claim exp") == true)
  }
}
