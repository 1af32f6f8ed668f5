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

  @Test(arguments: [
    "sentinel://h:26379/main", "redis+cluster://h", "localhost:6379", "redis://", "redis://h:0",
    "redis://h:x", "redis://h/x", "redis://h/-1", "redis://me@h", "redis://me:@h", "unix://run",
    "unix:///s?x=1", "redis://a,b", "redis://::1", "redis://h?ssl=1", "redis://u:%zz@h", "",
  ])
  func `is refused when it cannot be meant`(text: String) {
    #expect(throws: RedisError.self) { try RedisURL(parsing: text) }
  }

  @Test func `is refused with the list of what is accepted`() {
    #expect(
      throws: RedisError.invalidSetting(
        "The Redis URL begins with sentinel://; accepted are redis://, rediss:// (TLS) and "
          + "unix:// (a socket).")
    ) { try RedisURL(parsing: "sentinel://h") }
  }

  @Test func `is refused without its password`() {
    for text in ["redis://u:hunter2@h:99999", "redis://u:hunter2@h/x", "redis://hunter2@h"] {
      do {
        _ = try RedisURL(parsing: text)
        Issue.record("accepted \(text)")
      } catch { #expect(!"\(error)".contains("hunter2")) }
    }
  }
}
