import Crypto
import Foundation
import HTTP
import Testing
import Transport

private let patience: Duration = .seconds(30)

/// The same protocol, spoken by programs that are not ours.
@Suite(.timeLimit(.minutes(2))) struct `Foreign peers` {
  @Test(.enabled(if: isInstalled("/usr/sbin/nghttpd")))
  func `serve our client: nghttpd`() async throws {
    let scratch = try Scratch()
    defer { scratch.remove() }
    let loop = try EventLoop(name: "client")
    defer { loop.stop() }
    let port = try await StreamListener.freePort(on: loop)
    try scratch.write("hello", as: "index.html")
    let server = try await Subprocess.start(
      "/usr/sbin/nghttpd",
      arguments: [
        "-a", "127.0.0.1", "-d", scratch.path, "-m", "7", "--echo-upload", "\(port)",
        scratch.path("key.pem"), scratch.path("cert.pem"),
      ], on: loop)
    let client = try await untilUp {
      try await HTTP2Client.connect(
        to: .tcp(host: "127.0.0.1", port: port),
        tls: try TLSClientContext(trust: .file(scratch.path("ca.pem")), alpn: ["h2"]), on: loop)
    }
    #expect(await client.streamLimit == 7)
    let get = HTTPRequest(method: "GET", authority: "localhost", path: "/index.html")
    #expect(await client.send(get, deadline: patience).response?.text == "hello")
    // Larger than every window, so that both directions depend on WINDOW_UPDATE.
    let large = (0..<600_000).map { UInt8(truncatingIfNeeded: $0 &* 31) }
    let post = HTTPRequest(method: "POST", authority: "localhost", path: "/echo", body: large)
    #expect(await client.send(post, deadline: patience).response?.body == large)
    let template = try RequestTemplate(
      method: "POST", authority: "localhost", path: "/echo", fields: ["x-note": "7"])
    let outcomes = await client.sendAll(
      template, (0..<500).map { BatchItem(values: [], body: Array("\($0)".utf8)) },
      deadline: patience)
    #expect(outcomes.map { $0.response?.text } == (0..<500).map { "\($0)" })
    #expect(await client.slotsInUse == 0)
    await client.close()
    server.terminate()
    _ = await server.waitForExit()
  }

  @Test(.enabled(if: isInstalled("/usr/bin/h2load")), arguments: [1, 100])
  func `load our server: h2load`(width: Int) async throws {
    let tls = try TestTLS.make()
    let server = try await ScriptedServer.start(tls: tls.server) { connection, request, stream in
      connection.respond(stream: stream, status: request.body.count == 309 ? 200 : 400)
    }
    defer { server.stop() }
    let scratch = try Scratch()
    defer { scratch.remove() }
    try scratch.write(String(repeating: "x", count: 309), as: "body")
    let output = scratch.path("h2load.txt")
    let load = try await Subprocess.start(
      "/usr/bin/h2load",
      arguments: [
        "-c2", "-t1", "-m\(width)", "-n2000", "-d", scratch.path("body"),
        "https://\(server.endpoint)/3/device/x",
      ], outputPath: output, on: server.loop)
    #expect(await load.waitForExit() == 0)
    #expect(try String(contentsOfFile: output, encoding: .utf8).contains(" 2000 succeeded"))
  }

  @Test(.enabled(if: isInstalled("/usr/bin/curl")))
  func `ask our servers: curl`() async throws {
    let scratch = try Scratch()
    defer { scratch.remove() }
    let h2 = try await ScriptedServer.start(tls: try scratch.serverTLS()) {
      connection, request, stream in
      connection.respond(
        stream: stream, status: 200, fields: ["content-type": "text/plain"],
        body: Array("\(request.method) \(request.path) \(request.body.count)\n".utf8))
    }
    defer { h2.stop() }
    let output = scratch.path("curl.txt")
    let curl = try await Subprocess.start(
      "/usr/bin/curl",
      arguments: [
        // Over TLS: curl 7.88 fails at its second request on a plain HTTP/2 connection.
        "-sS", "--fail", "--http2", "--cacert", scratch.path("ca.pem"), "--data-binary", "12345",
        "https://\(h2.endpoint)/a?b", "https://\(h2.endpoint)/c",
      ], outputPath: output, on: h2.loop)
    let status = await curl.waitForExit()
    let said = try String(contentsOfFile: output, encoding: .utf8)
    #expect(status == 0)
    #expect(said == "POST /a?b 5\nPOST /c 5\n")
  }
}

private func isInstalled(_ path: String) -> Bool {
  FileManager.default.isExecutableFile(atPath: path)
}

/// A directory for one test, with certificates for `localhost`.
private struct Scratch {
  let path = "/tmp/fieldcast-http-\(UInt64.random(in: 0 ... .max))"
  private let identity: TLSIdentity

  init() throws {
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    let validity = CertificateAuthority.Validity.days(1, fromSeconds: WallClock.now().wholeSeconds)
    let authority = try CertificateAuthority(commonName: "Test authority", validity: validity)
    let issued = try authority.issue(
      .server, names: [.dns("localhost"), .ip("127.0.0.1")], validity: validity)
    identity = TLSIdentity(
      certificateChainPEM: issued.chainPEM, privateKeyPEM: issued.privateKeyPEM)
    try write(String(decoding: authority.certificatePEM(), as: UTF8.self), as: "ca.pem")
    try write(String(decoding: issued.chainPEM, as: UTF8.self), as: "cert.pem")
    try write(String(decoding: issued.privateKeyPEM, as: UTF8.self), as: "key.pem")
  }

  func serverTLS() throws -> TLSServerContext {
    try TLSServerContext(identity: identity, alpn: ["h2"])
  }

  func path(_ name: String) -> String { "\(path)/\(name)" }

  func write(_ text: String, as name: String) throws {
    try Data(text.utf8).write(to: URL(fileURLWithPath: path(name)))
  }

  func remove() { try? FileManager.default.removeItem(atPath: path) }
}

/// Tries again while a program that was just started does not listen yet.
private func untilUp<Result>(_ attempt: () async throws -> Result) async throws -> Result {
  for _ in 0..<200 {
    if let result = try? await attempt() { return result }
    try await Task.sleep(for: .milliseconds(25))
  }
  return try await attempt()
}
