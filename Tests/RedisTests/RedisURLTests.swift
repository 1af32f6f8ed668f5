import Testing

@testable import Redis

@Suite struct `A Redis URL` {
  @Test func `names host, port and database`() throws {
    let url = try RedisURL(parsing: "redis://db.example:6380/3")
    #expect(url.place == .tcp(host: "db.example", port: 6380))
    #expect(url.database == 3)
    #expect(!url.usesTLS)
    #expect(url.user == nil && url.password == nil)
  }

  @Test func `has defaults`() throws {
    let url = try RedisURL(parsing: "rediss://db.example")
    #expect(url.place == .tcp(host: "db.example", port: 6379))
    #expect(url.database == 0)
    #expect(url.usesTLS)
    #expect(try RedisURL(parsing: "redis://h/").database == 0)
  }

  @Test func `takes user and password apart, percent signs decoded`() throws {
    let url = try RedisURL(parsing: "redis://me:p%40ss%3Aw@h")
    #expect(url.user == "me")
    #expect(url.password == "p@ss:w")
    #expect(try RedisURL(parsing: "redis://:pw@h").user == nil)
    #expect(try RedisURL(parsing: "redis://:a@b@h").password == "a@b")
  }

  @Test func `may be an IPv6 address in brackets`() throws {
    #expect(try RedisURL(parsing: "redis://[::1]:7000").place == .tcp(host: "::1", port: 7000))
    #expect(try RedisURL(parsing: "redis://[::1]").place == .tcp(host: "::1", port: 6379))
  }

  @Test func `may be a socket`() throws {
    let url = try RedisURL(parsing: "unix:///run/redis.sock?db=2")
    #expect(url.place == .unix(path: "/run/redis.sock"))
    #expect(url.database == 2)
  }

  @Test func `may name Sentinels, and the primary that they watch`() throws {
    let url = try RedisURL(
      parsing: "redis-sentinel://me:a%40b@h1,h2:5/my%20trips/3?sentinel-user=s&sentinel-password=p")
    let addresses = [RedisAddress(host: "h1", port: 26_379), RedisAddress(host: "h2", port: 5)]
    #expect(url.place == .sentinel(addresses, name: "my trips"))
    #expect(url.user == "me" && url.password == "a@b" && url.database == 3)
    #expect(url.sentinelUser == "s" && url.sentinelPassword == "p")
    #expect(!url.usesTLS)
    #expect(try RedisURL(parsing: "rediss-sentinel://h/n").usesTLS)
  }

  @Test func `may name a cluster by some of its nodes`() throws {
    let url = try RedisURL(parsing: "rediss-cluster://:secret@h1:1,[::1],h1:1/")
    let addresses = [RedisAddress(host: "h1", port: 1), RedisAddress(host: "::1", port: 6_379)]
    #expect(url.place == .cluster(addresses))
    #expect(url.password == "secret" && url.usesTLS)
  }

  @Test(arguments: [
    "sentinel://h:26379/main", "redis+cluster://h", "localhost:6379", "redis-sentinel://h:1",
    "redis-sentinel://h:1/", "redis-sentinel://h/n/x", "redis-sentinel://,h/n",
    "redis-sentinel://h/n?sentinel-user=u", "redis-sentinel://h/n?x=1", "redis-cluster://h/1",
    "redis-cluster://", "redis-cluster://h,", "redis-cluster://h:1?x=1", "redis://", "redis://h:0",
    "redis://h:x", "redis://h/x", "redis://h/-1", "redis://me@h", "redis://me:@h", "unix://run",
    "unix:///s?x=1", "redis://a,b", "redis://::1", "redis://h?ssl=1", "redis://u:%zz@h", "",
  ])
  func `is refused when it cannot be meant`(text: String) {
    #expect(throws: RedisError.self) { try RedisURL(parsing: text) }
  }

  @Test func `is refused with the list of what is accepted`() {
    #expect(
      throws: RedisError.invalidSetting(
        "The Redis URL begins with sentinel://; accepted are redis://, redis-sentinel://, "
          + "redis-cluster://, each with rediss for TLS, and unix:// (a socket).")
    ) { try RedisURL(parsing: "sentinel://h") }
  }

  @Test func `is refused without its password`() {
    for text in [
      "redis://u:hunter2@h:99999", "redis://u:hunter2@h/x", "redis://hunter2@h",
      "redis-sentinel://u:hunter2@h:99999/n", "redis-sentinel://h/n?sentinel-password=%hunter2",
      "redis-cluster://u:hunter2@h/1", "redis-cluster://hunter2@h,h",
      // The host was forgotten.
      "redis://u:hunter2", "redis://:hunter2/0", "redis://u:pass/hunter2", "redis://u:a@b:hunter2",
      "redis-sentinel://u:hunter2/n", "redis-cluster://u:hunter2",
    ] {
      do {
        _ = try RedisURL(parsing: text)
        Issue.record("accepted \(text)")
      } catch { #expect(!"\(error)".contains("hunter2")) }
    }
  }
}
