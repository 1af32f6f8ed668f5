import Clocks
import Crypto
import JSON
import Testing
import Transport

@testable import APNs

private func providerKey() throws -> ProviderKey {
  try ProviderKey(teamID: "TEAM123456", keyID: "KEY1234567", key: .generate())
}

@Suite struct `A provider token` {
  @Test func `says who signed it and when, in whole seconds`() throws {
    let key = try P256PrivateKey.generate()
    let provider = try ProviderKey(teamID: "TEAM123456", keyID: "KEY1234567", key: key)
    let token = try provider.token(issuedAt: UnixTime(seconds: 1_790_000_000.9))
    let parts = token.text.split(separator: ".").map(String.init)
    try #require(parts.count == 3)
    #expect(
      Base64.url.decode(parts[0]).map { String(decoding: $0, as: UTF8.self) }
        == #"{"alg":"ES256","kid":"KEY1234567"}"#)
    #expect(
      Base64.url.decode(parts[1]).map { String(decoding: $0, as: UTF8.self) }
        == #"{"iss":"TEAM123456","iat":1790000000}"#)
    let signature = try #require(Base64.url.decode(parts[2]).flatMap { ECDSASignature(raw: $0) })
    #expect(key.publicKey.verifies(signature, of: Array("\(parts[0]).\(parts[1])".utf8)))
    #expect(token.issuedAt == UnixTime(wholeSeconds: 1_790_000_000))
    #expect(!"\(token)".contains(parts[2]))
  }

  @Test(arguments: ["", "TEAM12345", "TEAM1234567", "team123456", "TEAM12345\"", "TEAM12345Ü"])
  func `is not signed for a name that no portal gives`(name: String) throws {
    let key = try P256PrivateKey.generate()
    #expect(throws: InvalidIdentifier.self) {
      try ProviderKey(teamID: name, keyID: "KEY1234567", key: key)
    }
    #expect(throws: InvalidIdentifier.self) {
      try ProviderKey(teamID: "TEAM123456", keyID: name, key: key)
    }
  }
}

/// A source with a clock that is moved by hand: monotonic and wall time together, or one alone.
private struct Bench {
  var source = ProviderTokenSource()
  var now = Moment.origin
  var wall = UnixTime(wholeSeconds: 1_790_000_000)
  var made = 0

  mutating func wait(minutes: Double) {
    now += .seconds(minutes * 60)
    wall = wall + .seconds(minutes * 60)
  }

  mutating func need() -> ProviderTokenSource.Need { source.need(now: now, wall: wall) }

  /// Ends the renewal that was asked for with a fresh token.
  @discardableResult
  mutating func renew() -> ProviderToken {
    made += 1
    let token = ProviderToken(
      text: "t\(made)", issuedAt: UnixTime(wholeSeconds: wall.wholeSeconds))
    source.renewed(token, now: now, wall: wall)
    return token
  }

  /// Asks once a minute, as a busy service does, and renews whenever asked to.
  mutating func run(minutes: Int) {
    for _ in 0..<minutes {
      switch need() {
      case .renew, .useAndRenew: renew()
      case .use, .wait, .exhausted: break
      }
      wait(minutes: 1)
    }
  }
}

@Suite struct `The source of provider tokens` {
  @Test func `makes one at first use and lets the others wait`() {
    var bench = Bench()
    #expect(bench.need() == .renew)
    #expect(bench.need() == .wait)
    let token = bench.renew()
    #expect(bench.need() == .use(token))
  }

  @Test func `renews 50 minutes after first use, sending meanwhile with the old one`() {
    var bench = Bench()
    bench.wait(minutes: 90)
    _ = bench.need()
    let first = bench.renew()
    bench.wait(minutes: 49.9)
    #expect(bench.need() == .use(first))
    bench.wait(minutes: 0.1)
    #expect(bench.need() == .useAndRenew(first))
    #expect(bench.need() == .use(first))
    let second = bench.renew()
    #expect(bench.need() == .use(second))
  }

  @Test func `makes 29 tokens in a day of steady use`() {
    var bench = Bench()
    bench.run(minutes: 24 * 60)
    #expect(bench.made == 29)
  }

  @Test func `takes over what another node signed, with its age`() {
    var bench = Bench()
    _ = bench.need()
    let shared = ProviderToken(text: "s", issuedAt: bench.wall - .seconds(40 * 60))
    bench.source.renewed(shared, now: bench.now, wall: bench.wall)
    bench.wait(minutes: 9.9)
    #expect(bench.need() == .use(shared))
    bench.wait(minutes: 0.2)
    #expect(bench.need() == .useAndRenew(shared))
  }

  @Test func `replaces an expired token once for all`() {
    var bench = Bench()
    _ = bench.need()
    let first = bench.renew()
    bench.wait(minutes: 5)
    bench.source.refusedAsExpired(first, now: bench.now)
    bench.source.refusedAsExpired(first, now: bench.now)
    #expect(bench.need() == .renew)
    #expect(bench.need() == .wait)
    let second = bench.renew()
    // Late answers about the first one change nothing.
    bench.source.refusedAsExpired(first, now: bench.now)
    #expect(bench.need() == .use(second))
  }

  @Test func `does not replace an expired token twice within 20 minutes`() {
    var bench = Bench()
    _ = bench.need()
    let first = bench.renew()
    bench.source.refusedAsExpired(first, now: bench.now)
    _ = bench.need()
    let second = bench.renew()
    bench.source.refusedAsExpired(second, now: bench.now)
    let until = bench.now + .seconds(20 * 60)
    #expect(bench.need() == .exhausted(until: until))
    bench.wait(minutes: 20)
    #expect(bench.need() == .renew)
  }

  @Test func `tries an expired token again each ten seconds, in case only one host complained`() {
    var bench = Bench()
    _ = bench.need()
    let first = bench.renew()
    bench.source.refusedAsExpired(first, now: bench.now)
    _ = bench.need()
    let second = bench.renew()
    bench.source.refusedAsExpired(second, now: bench.now)
    bench.now += .seconds(10)
    #expect(bench.need() == .use(second))
    #expect(bench.need() != .use(second))
    bench.source.accepted(second)
    #expect(bench.need() == .use(second))
  }

  @Test func `makes a token each 20 minutes at most when APNs calls every one expired`() {
    var bench = Bench()
    for _ in 0..<(3 * 60) {
      switch bench.need() {
      case .renew, .useAndRenew: bench.source.refusedAsExpired(bench.renew(), now: bench.now)
      case .use(let token): bench.source.refusedAsExpired(token, now: bench.now)
      case .wait, .exhausted: break
      }
      bench.wait(minutes: 1)
    }
    #expect(bench.made <= 1 + 3 * 60 / 20)
    #expect(bench.made >= 3 * 60 / 20)
  }

  @Test func `takes an acceptance for more than another host's refusal`() {
    var bench = Bench()
    _ = bench.need()
    let token = bench.renew()
    bench.source.refusedAsExpired(token, now: bench.now)
    bench.source.accepted(token)
    #expect(!bench.source.isRefused)
    #expect(bench.need() == .use(token))
  }

  @Test func `keeps the present token when APNs counts too many`() {
    var bench = Bench()
    _ = bench.need()
    let token = bench.renew()
    bench.wait(minutes: 49)
    bench.source.refusedAsTooMany(now: bench.now)
    bench.wait(minutes: 5)
    #expect(bench.need() == .use(token))
    // Past its hour it is no use to anybody, however often tokens were changed.
    bench.wait(minutes: 6)
    #expect(bench.need() == .renew)
  }

  @Test(arguments: [3_600.0, -3_600])
  func `renews when the wall clock was stepped`(seconds: Double) {
    var bench = Bench()
    _ = bench.need()
    let first = bench.renew()
    bench.wall = bench.wall + .seconds(seconds)
    #expect(bench.need() == .use(first))
    bench.wait(minutes: 20)
    #expect(bench.need() == .useAndRenew(first))
    let second = bench.renew()
    bench.wait(minutes: 49)
    #expect(bench.need() == .use(second))
  }

  @Test func `tries again after a failure`() {
    var bench = Bench()
    _ = bench.need()
    bench.source.renewalFailed()
    #expect(bench.need() == .renew)
  }
}

@Suite struct `Credentials` {
  private actor SharedToken: ProviderTokenStore {
    var stored: ProviderToken?
    var offers = 0

    func agree(
      on candidate: ProviderToken, replacing previous: ProviderToken?
    ) async throws -> ProviderToken {
      offers += 1
      if let stored, stored != previous { return stored }
      stored = candidate
      return candidate
    }
  }

  @Test func `sign once for a hundred who wait`() async throws {
    let credentials = ProviderCredentials(key: try providerKey(), clock: ServiceClock())
    let tokens = try await withThrowingTaskGroup(of: ProviderToken.self) { group in
      for _ in 0..<100 { group.addTask { try await credentials.token() } }
      return try await group.reduce(into: Set<ProviderToken>()) { $0.insert($1) }
    }
    #expect(tokens.count == 1)
    #expect(credentials.signedCount == 1)
    #expect(credentials.presentToken() == tokens.first)
  }

  @Test func `of three nodes agree on one token`() async throws {
    let store = SharedToken()
    let key = try providerKey()
    var tokens: Set<ProviderToken> = []
    for _ in 0..<3 {
      let node = ProviderCredentials(key: key, clock: ServiceClock(), store: store)
      tokens.insert(try await node.token())
    }
    #expect(tokens.count == 1)
    #expect(await store.offers == 3)
  }

  private struct BrokenStore: ProviderTokenStore {
    struct Failure: Error {}

    func agree(
      on candidate: ProviderToken, replacing previous: ProviderToken?
    ) async throws -> ProviderToken { throw Failure() }
  }

  @Test func `go on alone, and say so, when nodes cannot agree`() async throws {
    let key = try providerKey()
    let alone = ProviderCredentials(key: key, clock: ServiceClock(), store: BrokenStore())
    #expect(alone.sharingFailure == nil)
    let token = try await alone.token()
    #expect(alone.presentToken() == token)
    #expect(alone.sharingFailure is BrokenStore.Failure)
    let shared = ProviderCredentials(key: key, clock: ServiceClock(), store: SharedToken())
    _ = try await shared.token()
    #expect(shared.sharingFailure == nil)
  }

  @Test func `name the clock when APNs calls every token expired`() async throws {
    let start = UnixTime(wholeSeconds: 784_111_777 + 3_700)
    let clock = ServiceClock(speed: 0.001, startingAt: start, at: WallClock.now())
    let credentials = ProviderCredentials(key: try providerKey(), clock: clock)
    let expired = APNsRefusal(
      .init(
        status: 403, fields: ["date": "Sun, 06 Nov 1994 08:49:37 GMT"],
        body: Array(#"{"reason":"ExpiredProviderToken"}"#.utf8)), now: clock.wall)
    credentials.refused(try await credentials.token(), expired)
    credentials.refused(try await credentials.token(), expired)
    #expect(credentials.signedCount == 2)
    await #expect(throws: ProviderCredentials.Failure.alwaysExpired(offBySeconds: 3_700)) {
      try await credentials.token()
    }
  }
}
