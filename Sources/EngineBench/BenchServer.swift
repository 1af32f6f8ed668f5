import Clocks
import Crypto
import Glibc
import Transport

/// A server's process.
struct BenchServer {
  enum Kind: Sendable {
    case lean(LeanServer.Configuration)
    case nghttpd
  }

  let port: Int
  private let process: Subprocess

  static func writeCertificate(in scratch: Scratch, now: UnixTime) throws {
    let validity = CertificateAuthority.Validity.days(2, fromSeconds: now.wholeSeconds)
    let authority = try CertificateAuthority(commonName: "Fieldcast bench", validity: validity)
    let issued = try authority.issue(
      .server, names: [.dns("localhost"), .ip("127.0.0.1")], validity: validity)
    try scratch.write(try authority.certificatePEM(), as: "ca.pem")
    try scratch.write(issued.chainPEM, as: "certificate.pem")
    try scratch.write(issued.privateKeyPEM, as: "key.pem")
  }

  /// Starts it and waits until it takes connections.
  static func start(
    _ kind: Kind, program: String, in scratch: Scratch, processor: Int?, on loop: EventLoop
  ) async throws -> BenchServer {
    let said = scratch.file("server")
    try scratch.write([], as: "server")
    switch kind {
    case .lean(let configuration):
      let process = try await Subprocess.start(
        program,
        arguments: EngineBench.serverWords
          + ServerArguments.words(configuration, folder: scratch.path),
        outputPath: said, processor: processor, on: loop)
      return try await untilUp(process, said, on: loop) {
        Scratch.read(said)?.split(separator: "\n").first.flatMap { Int($0) }
      }
    case .nghttpd:
      guard let path = Subprocess.executable(named: "nghttpd") else {
        throw BenchFailure(
          "nghttpd is not installed. It is in the package nghttp2-server: "
            + "apt-get install nghttp2-server")
      }
      // It answers a POST with a file's content, and all of these are empty.
      scratch.makeFolder("3")
      scratch.makeFolder("3/device")
      for token in BenchTokens.make(halfBad: false) {
        try scratch.write([], as: "3/device/\(token)")
      }
      let port = try await StreamListener.freePort(on: loop)
      let process = try await Subprocess.start(
        path,
        arguments: [
          "-a", "127.0.0.1", "-m", "1000", "-d", scratch.path, "\(port)", scratch.file("key.pem"),
          scratch.file("certificate.pem"),
        ], outputPath: said, processor: processor, on: loop)
      return try await untilUp(process, said, on: loop) { await accepts(port, loop) ? port : nil }
    }
  }

  func stop() { process.signal(SIGKILL) }

  private static func untilUp(
    _ process: Subprocess, _ said: String, on loop: EventLoop, port: () async -> Int?
  ) async throws -> BenchServer {
    for _ in 0..<1_000 where process.isRunning {
      if let port = await port() { return BenchServer(port: port, process: process) }
      try await loop.sleep(for: .milliseconds(10))
    }
    process.signal(SIGKILL)
    throw BenchFailure("The server did not start: \(Scratch.read(said) ?? "")")
  }

  private static func accepts(_ port: Int, _ loop: EventLoop) async -> Bool {
    let endpoint = Endpoint.tcp(host: "127.0.0.1", port: port)
    guard let stream = try? await StreamConnector.connect(to: endpoint, tls: nil, on: loop) else {
      return false
    }
    loop.execute { stream.abort() }
    return true
  }
}
