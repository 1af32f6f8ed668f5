import Clocks
import Crypto
import Glibc
import Testing
import Transport

@testable import Redis

@Suite struct `A private Redis server` {
  @Test func `keeps its data, and refuses what would lose them`() async throws {
    let folder = try TemporaryFolder(for: "redis")
    defer { folder.remove() }
    let options = PrivateRedisServer.Options(folder: folder.path + "/deep/data")
    let server = try await PrivateRedisServer.start(options, on: loop)
    let client = RedisClient(configuration: server.configuration, loop: loop)
    let settings = try await client.call(
      RedisCommand("CONFIG", "GET", "appendonly", "appendfsync", "maxmemory-policy", "port")
    ).fieldMap()
    #expect(settings["appendonly"] == Array("yes".utf8))
    #expect(settings["appendfsync"] == Array("everysec".utf8))
    #expect(settings["maxmemory-policy"] == Array("noeviction".utf8))
    #expect(settings["port"] == Array("0".utf8))
    _ = try await client.call(RedisCommand("SET", "a", "kept"))
    await client.close()
    await server.stop()
    #expect(!server.process.isRunning)
    let again = try await PrivateRedisServer.start(options, on: loop)
    let connection = try await RedisConnection.connect(again.configuration, loop: loop)
    #expect(try await connection.call(RedisCommand("GET", "a")) == .bulk(Array("kept".utf8)))
    await connection.close()
    await again.stop()
  }

  @Test func `takes a folder that is named from where we are`() async throws {
    let folder = try TemporaryFolder(for: "redis").path
    defer { TemporaryFolder.remove(folder) }
    let here = try #require(getcwd(nil, 0))
    defer { free(here) }
    let depth = String(cString: here).split(separator: "/").count
    let relative = String(repeating: "../", count: depth) + folder.dropFirst()
    let options = PrivateRedisServer.Options(folder: relative + "/data")
    let server = try await PrivateRedisServer.start(options, on: loop)
    let client = RedisClient(configuration: server.configuration, loop: loop)
    #expect(try await client.call(RedisCommand("PING")) == .simple("PONG"))
    await client.close()
    await server.stop()
    #expect(access(folder + "/data/redis.log", F_OK) == 0)
  }

  @Test func `waits for an earlier one that is still writing its data`() async throws {
    let options = PrivateRedisServer.Options(folder: try TemporaryFolder(for: "redis").path)
    defer { TemporaryFolder.remove(options.folder) }
    let old = try await PrivateRedisServer.start(options, on: loop)
    let starting = Task { try await PrivateRedisServer.start(options, on: loop) }
    try await loop.sleep(for: .milliseconds(200))
    #expect(old.process.isRunning)
    old.process.terminate()
    let new = try await starting.value
    #expect(!old.process.isRunning)
    await new.stop()
  }

  @Test func `says who serves the folder when that does not end`() async throws {
    var options = PrivateRedisServer.Options(folder: try TemporaryFolder(for: "redis").path)
    defer { TemporaryFolder.remove(options.folder) }
    let old = try await PrivateRedisServer.start(options, on: loop)
    options.startDeadline = .milliseconds(100)
    await #expect(
      throws: PrivateRedisError.folderInUse(
        folder: options.folder, processID: old.process.processID)
    ) { _ = try await PrivateRedisServer.start(options, on: loop) }
    await old.stop()
  }

  @Test func `is not misled by what a crashed one left behind`() async throws {
    let options = PrivateRedisServer.Options(folder: try TemporaryFolder(for: "redis").path)
    defer { TemporaryFolder.remove(options.folder) }
    let old = try await PrivateRedisServer.start(options, on: loop)
    old.process.signal(SIGKILL)
    #expect(await old.process.waitForExit() == 137)
    let new = try await PrivateRedisServer.start(options, on: loop)
    await new.stop()
  }

  @Test func `says what to install, or what the log says`() async throws {
    #expect("\(PrivateRedisError.notInstalled)".contains("apt-get install redis-server"))
    var options = try PrivateRedisServer.Options.temporary()
    options.arguments = ["--no-such-setting", "1"]
    do {
      _ = try await PrivateRedisServer.start(options, on: loop)
      Issue.record("started")
    } catch { #expect("\(error)".contains("Bad directive")) }
    options.executable = "/no/such/redis-server"
    do {
      _ = try await PrivateRedisServer.start(options, on: loop)
      Issue.record("started")
    } catch { #expect("\(error)".contains("/no/such/redis-server")) }
    #expect(access(options.folder, F_OK) != 0, "its temporary folder is removed")
    let long = PrivateRedisServer.Options(folder: "/tmp/" + String(repeating: "x", count: 120))
    do {
      _ = try await PrivateRedisServer.start(long, on: loop)
      Issue.record("started")
    } catch { #expect("\(error)".contains("107")) }
  }
}

@Suite struct `Redis over TLS` {
  /// A server that takes TLS connections only, with a certificate for `localhost`.
  private func withTLSServer(
    _ body: (RedisConfiguration, _ trusted: [UInt8]) async throws -> Void
  ) async throws {
    let now = WallClock.now().wholeSeconds
    let validity = CertificateAuthority.Validity.days(1, fromSeconds: now)
    let authority = try CertificateAuthority(commonName: "Test", validity: validity)
    let issued = try authority.issue(.server, names: [.dns("localhost")], validity: validity)
    let folder = try TemporaryFolder(for: "redis").path
    defer { TemporaryFolder.remove(folder) }
    try write(issued.chainPEM, to: folder + "/chain.pem")
    try write(issued.privateKeyPEM, to: folder + "/key.pem")
    let port = try await StreamListener.freePort(on: loop)
    let arguments = [
      "--tls-port", String(port), "--tls-cert-file", folder + "/chain.pem", "--tls-key-file",
      folder + "/key.pem", "--tls-auth-clients", "no",
    ]
    try await withRedis(arguments: arguments) { server in
      let configuration = RedisConfiguration(endpoint: .tcp(host: "127.0.0.1", port: port))
      try await body(configuration, try authority.certificatePEM())
    }
  }

  private func write(_ bytes: [UInt8], to path: String) throws {
    let file = try #require(fopen(path, "w"))
    #expect(fwrite(bytes, 1, bytes.count, file) == bytes.count)
    fclose(file)
  }

  @Test func `carries commands, large values and pipelines`() async throws {
    try await withTLSServer { configuration, trusted in
      var configuration = configuration
      configuration.tls = try TLSClientContext(trust: .pem(trusted), alpn: [])
      configuration.serverName = "localhost"
      let connection = try await RedisConnection.connect(configuration, loop: loop)
      let value = [UInt8](repeating: 42, count: 3 << 20)
      _ = try await connection.call(RedisCommand("SET", "large", value))
      #expect(try await connection.call(RedisCommand("GET", "large")).bytesValue() == value)
      var batch = RedisBatch()
      for _ in 0..<5000 { batch.append("INCR", "n") }
      let replies = await connection.callAll(batch, before: MonotonicClock.now() + .seconds(20))
      #expect(replies.last == .success(.integer(5000)))
      await connection.close()
    }
  }

  @Test func `is refused when the certificate is not to be trusted or for another name`()
    async throws
  {
    try await withTLSServer { configuration, trusted in
      var stranger = configuration
      stranger.tls = try TLSClientContext(trust: .system, alpn: [])
      stranger.serverName = "localhost"
      let untrusted = await redisError {
        _ = try await RedisConnection.connect(stranger, loop: loop)
      }
      #expect(untrusted?.failure?.kind == .cannotConnect)
      var misnamed = configuration
      misnamed.tls = try TLSClientContext(trust: .pem(trusted), alpn: [])
      misnamed.serverName = "redis.example"
      let other = await redisError { _ = try await RedisConnection.connect(misnamed, loop: loop) }
      #expect(other?.failure?.kind == .cannotConnect)
    }
  }
}

@Suite struct `The pause before connecting again` {
  @Test func `doubles up to its longest, and is shortened by chance by up to a half`() {
    var generator = SystemRandomNumberGenerator()
    var backoff = Backoff(first: .milliseconds(100), longest: .seconds(1))
    for expected in [100, 200, 400, 800, 1000, 1000, 1000] {
      let pause = backoff.pause(using: &generator)
      #expect(pause <= .milliseconds(expected))
      #expect(pause >= .milliseconds(expected / 2))
    }
  }

  @Test func `starts anew only after a connection that lasted`() {
    var generator = SystemRandomNumberGenerator()
    var backoff = Backoff(first: .milliseconds(100), longest: .seconds(1))
    for _ in 0..<5 { _ = backoff.pause(using: &generator) }
    backoff.lasted(.milliseconds(10))
    #expect(backoff.pause(using: &generator) > .milliseconds(400))
    backoff.lasted(.seconds(2))
    #expect(backoff.pause(using: &generator) <= .milliseconds(100))
  }
}
