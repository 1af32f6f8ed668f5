import APNs
import Foundation
import Testing
import Transport

/// The engine against nghttp2's own server, which logs every header field that it reads.
@Suite(
  .timeLimit(.minutes(2)),
  .enabled(if: Installed.nghttpd != nil, "there is no nghttpd (package nghttp2-server)"))
struct `The engine and nghttpd` {
  @Test(arguments: [1, 7, 1_000])
  func `agree on every push, however few streams there are`(streams: Int) async throws {
    try await with(streams: streams) { server in
      let load = ForeignLoad()
      let outcomes = try await load.run(server.client)
      #expect(outcomes.count == load.count)
      #expect(outcomes.acceptedCount == load.count, "\(outcomes.summary)")
      #expect(outcomes.disagreements(with: try served(server)).isEmpty)
      print("nghttpd, \(streams) streams: \(outcomes.summary)")
    }
  }

  @Test func `agree on payloads of every size`() async throws {
    try await with(streams: 100) { server in
      for bytes in [1, 300, 4_095, 4_096] {
        var load = ForeignLoad(singles: 60, batches: [100])
        load.payload = Array(repeating: UInt8(ascii: " "), count: bytes)
        let outcomes = try await load.run(server.client)
        #expect(outcomes.acceptedCount == load.count, "\(bytes) bytes: \(outcomes.summary)")
      }
    }
  }

  @Test func `part in the middle of everything, and meet again`() async throws {
    try await with(streams: 100) { server in
      let before = try await ForeignLoad(singles: 30, batches: []).run(server.client)
      #expect(before.acceptedCount == 30)
      let client = server.client
      let load = ForeignLoad(singles: 3_000, batches: [2_000])
      async let running = load.run(client)
      for _ in 1...3 {
        try await server.loop.sleep(for: .milliseconds(60))
        server.signal(SIGKILL)
        try await server.restart()
      }
      let outcomes = try await running
      #expect(outcomes.count == load.count)
      #expect(outcomes.acceptedCount > 0)
      #expect(outcomes.disagreements(with: try served(server)).isEmpty)
      let after = try await ForeignLoad(singles: 30, batches: [50]).run(client)
      #expect(after.acceptedCount == 80, "\(after.summary)")
      print("nghttpd, killed three times: \(outcomes.summary)")
    }
  }

  @Test func `notice a server that hangs, and go on when it does`() async throws {
    try await with(streams: 100, engine: SoakSettings.impatientEngine) { server in
      let before = try await ForeignLoad(singles: 30, batches: []).run(server.client)
      #expect(before.acceptedCount == 30)
      server.signal(SIGSTOP)
      var load = ForeignLoad(singles: 60, batches: [50])
      load.deadline = .seconds(3)
      let stopped = try await load.run(server.client)
      #expect(stopped.count == load.count)
      #expect(stopped.acceptedCount == 0, "\(stopped.summary)")
      #expect(stopped.values.contains(.unknown("connectionLost")))
      server.signal(SIGCONT)
      let after = try await ForeignLoad(singles: 60, batches: [50]).run(server.client)
      #expect(after.acceptedCount == 110, "\(after.summary)")
      print("nghttpd, stopped: \(stopped.summary)")
    }
  }

  private func with(
    streams: Int, engine: APNsClientConfiguration = APNsClientConfiguration(),
    _ body: (inout ForeignServer) async throws -> Void
  ) async throws {
    try await ForeignServer.with(
      Installed.nghttpd, engine: engine,
      arguments: { folder, port in
        [
          "--verbose", "--address=127.0.0.1", "--max-concurrent-streams=\(streams)",
          "--echo-upload", "--htdocs=\(folder.path)", "\(port)", folder.path("key.pem"),
          folder.path("cert.pem"),
        ]
      }, body)
  }

  /// How often it read each ID. It answers whatever it reads.
  private func served(_ server: ForeignServer) throws -> [String: Int] {
    let said = String(decoding: try server.folder.read(ForeignServer.output), as: UTF8.self)
    return said.matches(of: /apns-id: ([0-9a-f-]{36})/).reduce(into: [:]) {
      $0[String($1.output.1), default: 0] += 1
    }
  }
}

/// The engine against nginx, which ends connections after so many requests, answers before it has
/// read a body, and logs what it answered.
@Suite(
  .timeLimit(.minutes(2)),
  .enabled(if: Installed.nginx != nil, "\(Installed.reason("nginx"))"))
struct `The engine and nginx` {
  @Test(arguments: [(streams: 128, requests: 10_000), (streams: 5, requests: 50)])
  func `agree on every push, however often it says goodbye`(
    limits: (streams: Int, requests: Int)
  ) async throws {
    try await with(limits.streams, limits.requests) { server in
      let load = ForeignLoad(singles: 1_500, batches: [1, 50, 1_500])
      let outcomes = try await load.run(server.client)
      #expect(outcomes.count == load.count)
      #expect(try await disagreements(outcomes, server).isEmpty)
      #expect(outcomes.acceptedCount == load.count, "\(outcomes.summary)")
      print("nginx, \(limits.requests) requests a connection: \(outcomes.summary)")
    }
  }

  @Test func `agree on refusals`() async throws {
    try await with(128, 1_000) { server in
      for (token, name) in Self.refusals {
        var load = ForeignLoad(singles: 4, callers: 2, batches: [3])
        load.token = token
        let outcomes = try await load.run(server.client)
        #expect(outcomes.values.allSatisfy { $0.name == name }, "\(token): \(outcomes.summary)")
      }
    }
  }

  @Test func `part as its configuration is read anew, without a loss`() async throws {
    try await with(128, 10_000) { server in
      let client = server.client
      let load = ForeignLoad(singles: 3_000, batches: [2_000])
      async let running = load.run(client)
      for _ in 1...4 {
        try await server.loop.sleep(for: .milliseconds(150))
        server.signal(SIGHUP)
      }
      let outcomes = try await running
      #expect(try await disagreements(outcomes, server).isEmpty)
      #expect(outcomes.acceptedCount == load.count, "\(outcomes.summary)")
      print("nginx, reloaded four times: \(outcomes.summary)")
    }
  }

  @Test func `part in the middle of everything, and meet again`() async throws {
    try await with(128, 1_000) { server in
      let client = server.client
      let load = ForeignLoad(singles: 3_000, batches: [2_000])
      async let running = load.run(client)
      for _ in 1...3 {
        try await server.loop.sleep(for: .milliseconds(150))
        server.signal(SIGTERM)
        try await server.restart()
      }
      let outcomes = try await running
      #expect(outcomes.count == load.count)
      #expect(try await disagreements(outcomes, server).isEmpty)
      let after = try await ForeignLoad(singles: 30, batches: [50]).run(client)
      #expect(after.acceptedCount == 80, "\(after.summary)")
      print("nginx, stopped three times: \(outcomes.summary)")
    }
  }

  /// Tokens that the configuration below answers with a refusal.
  private static let refusals = [
    ("dead0000", "refused: 410 Unregistered"), ("dead0001", "refused: 400 BadDeviceToken"),
    // nginx' own pages, in HTML.
    ("dead0002", "refused: 503 unreadable"), ("dead0003", "refused: 429 unreadable"),
    ("dead0004", "refused: 404 unreadable"), ("dead0005", "refused: 413 unreadable"),
  ]

  private func with(
    _ streams: Int, _ requests: Int, _ body: (inout ForeignServer) async throws -> Void
  ) async throws {
    try await ForeignServer.with(
      Installed.nginx,
      arguments: { folder, port in
        try folder.write(Self.configuration(folder, port, streams, requests).utf8, as: "nginx.conf")
        return ["-c", folder.path("nginx.conf"), "-p", folder.path, "-e", folder.path("error.log")]
      }, body)
  }

  @Sendable private static func configuration(
    _ folder: Folder, _ port: Int, _ streams: Int, _ requests: Int
  ) -> String {
    """
    daemon off;
    \(getuid() == 0 ? "user root;" : "")
    worker_processes 1;
    pid \(folder.path("nginx.pid"));
    events { worker_connections 256; }
    http {
      log_format served '$status $http_apns_id';
      access_log \(folder.path("access.log")) served;
      client_body_temp_path \(folder.path("body"));
      proxy_temp_path \(folder.path("proxy"));
      fastcgi_temp_path \(folder.path("fastcgi"));
      uwsgi_temp_path \(folder.path("uwsgi"));
      scgi_temp_path \(folder.path("scgi"));
      keepalive_requests \(requests);
      server {
        listen 127.0.0.1:\(port) ssl http2;
        http2_max_concurrent_streams \(streams);
        ssl_certificate \(folder.path("cert.pem"));
        ssl_certificate_key \(folder.path("key.pem"));
        default_type application/json;
        location /3/device/ { return 200; }
        location /3/device/dead0000 {
          return 410 '{"reason":"Unregistered","timestamp":1790000000123}';
        }
        location /3/device/dead0001 { return 400 '{"reason":"BadDeviceToken"}'; }
        location /3/device/dead0002 { return 503; }
        location /3/device/dead0003 { return 429; }
        location /3/device/dead0004 { return 404; }
        location /3/device/dead0005 { client_max_body_size 1; return 413; }
      }
    }
    """
  }

  /// What does not agree with its log of answers; it writes a line when a request has ended, which
  /// may be a moment after the client has the answer.
  private func disagreements(
    _ outcomes: [String: SoakOutcome], _ server: ForeignServer
  ) async throws -> [String] {
    for _ in 1...200 {
      let found = outcomes.disagreements(with: try served(server))
      if found.isEmpty { return [] }
      try await server.loop.sleep(for: .milliseconds(20))
    }
    return outcomes.disagreements(with: try served(server))
  }

  /// How often it answered each ID with 200.
  private func served(_ server: ForeignServer) throws -> [String: Int] {
    let log = String(decoding: try server.folder.read("access.log"), as: UTF8.self)
    return log.matches(of: /200 ([0-9a-f-]{36})/).reduce(into: [:]) {
      $0[String($1.output.1), default: 0] += 1
    }
  }
}
