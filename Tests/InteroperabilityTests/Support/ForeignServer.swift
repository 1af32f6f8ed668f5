import APNs
import Clocks
import Crypto
import Foundation
import Testing
import Transport

/// A web server that is not ours, started on a free port, and an engine that talks to it.
///
/// Such servers know nothing of APNs; they answer what their configuration says.
struct ForeignServer {
  let loop: EventLoop
  let folder: Folder
  let port: Int
  let client: APNsClient
  private let arguments: @Sendable (Folder, Int) throws -> [String]
  private let program: String
  private(set) var process: Subprocess

  /// Where the program's own words go.
  static let output = "output.txt"

  /// Runs a test against a server that is stopped afterwards.
  ///
  /// - Parameters:
  ///   - engine: how its client behaves; by default as in production.
  ///   - arguments: of the program; may write files that they name into the folder, where
  ///     the certificate and its key are `cert.pem` and `key.pem`.
  static func with(
    _ program: String?, engine: APNsClientConfiguration = APNsClientConfiguration(),
    arguments: @escaping @Sendable (Folder, Int) throws -> [String],
    _ body: (inout ForeignServer) async throws -> Void
  ) async throws {
    let loop = try EventLoop(name: "engine")
    defer { loop.stop() }
    let folder = try Folder()
    defer { folder.remove() }
    var server = try await ForeignServer(
      try #require(program), arguments, engine, folder, loop)
    do {
      try await body(&server)
    } catch {
      await server.stop()
      throw error
    }
    await server.stop()
  }

  private init(
    _ program: String, _ arguments: @escaping @Sendable (Folder, Int) throws -> [String],
    _ engine: APNsClientConfiguration, _ folder: Folder, _ loop: EventLoop
  ) async throws {
    let listener = try await StreamListener.bind(.tcp(host: "127.0.0.1", port: 0), on: loop) {
      $0.abort()
    }
    port = listener.port
    listener.close()
    let trust = try Self.writeCertificate(into: folder)
    client = try Self.client(port, trust, engine, loop)
    process = try await Subprocess.start(
      program, arguments: try arguments(folder, port), outputPath: folder.path(Self.output),
      on: loop)
    self.loop = loop
    self.folder = folder
    self.program = program
    self.arguments = arguments
    try await waitUntilUp()
  }

  private static func writeCertificate(into folder: Folder) throws -> [UInt8] {
    let validity = CertificateAuthority.Validity.days(1, fromSeconds: WallClock.now().wholeSeconds)
    let authority = try CertificateAuthority(commonName: "Test authority", validity: validity)
    let issued = try authority.issue(
      .server, names: [.dns("localhost"), .ip("127.0.0.1")], validity: validity)
    try folder.write(issued.chainPEM, as: "cert.pem")
    try folder.write(issued.privateKeyPEM, as: "key.pem")
    return try authority.certificatePEM()
  }

  private static func client(
    _ port: Int, _ trust: [UInt8], _ configuration: APNsClientConfiguration, _ loop: EventLoop
  ) throws -> APNsClient {
    let host = APNsHost(
      name: "localhost", port: port, endpoint: .tcp(host: "127.0.0.1", port: port))
    let key = try ProviderKey(teamID: "TEAM123456", keyID: "KEY1234567", key: .generate())
    let clock = ServiceClock()
    return try APNsClient(
      app: APNsApp(bundleID: try BundleID("com.example.trains"), environment: .development),
      hosts: APNsHosts(push: host, management: host, trust: .pem(trust)),
      credentials: .token(ProviderCredentials(key: key, clock: clock)), clock: clock,
      configuration: configuration, loop: loop)
  }

  private func waitUntilUp() async throws {
    for _ in 1...400 {
      let stream = try? await StreamConnector.connect(
        to: .tcp(host: "127.0.0.1", port: port), on: loop)
      if let stream { return loop.execute { stream.abort() } }
      try await loop.sleep(for: .milliseconds(25))
    }
    let said = String(decoding: try folder.read(Self.output), as: UTF8.self)
    throw NotUp(description: "\(program) does not listen: \(said.suffix(500))")
  }

  struct NotUp: Error, CustomStringConvertible { let description: String }

  func signal(_ number: Int32) { process.signal(number) }

  /// Starts it anew on its port, after whatever ended it.
  mutating func restart() async throws {
    _ = await process.waitForExit()
    process = try await Subprocess.start(
      program, arguments: try arguments(folder, port), outputPath: folder.path(Self.output),
      on: loop)
    try await waitUntilUp()
  }

  private func stop() async {
    await client.close(grace: .zero)
    process.signal(SIGCONT)
    process.terminate()
    _ = await process.waitForExit()
  }
}

/// Pushes for a server that accepts whatever comes.
struct ForeignLoad: Sendable {
  var singles = 600
  var callers = 30
  var batches = [1, 50, 700]
  /// Long enough for a machine that has other things to do.
  var deadline: Duration = .seconds(60) * SoakSettings.environmentsLeniency
  var token = "00112233445566778899aabbccddeeff"
  var payload = Array(#"{"aps":{"alert":"Tide falls until 16:40"}}"#.utf8)

  /// Sends them all at once.
  ///
  /// - Returns: the outcome of each, by its `apns-id`.
  func run(_ client: APNsClient) async throws -> [String: SoakOutcome] {
    let push = Push(try PushOptions(.alert), payload: payload)
    let token = try #require(DeviceToken(token))
    return await withTaskGroup(of: [(String, SoakOutcome)].self) { group in
      for size in batches {
        let items = (0..<size).map { _ in
          AddressedPush(push, to: token, id: UUID().uuidString.lowercased())
        }
        group.addTask {
          let results = await client.push(items, deadline: deadline)
          return zip(items, results).map { ($0.id ?? "", SoakOutcome($1)) }
        }
      }
      for _ in 0..<callers {
        group.addTask {
          var results: [(String, SoakOutcome)] = []
          for _ in 0..<singles / callers {
            let id = UUID().uuidString.lowercased()
            let result = await client.push(
              push, to: token, id: id, deadline: deadline)
            results.append((id, SoakOutcome(result)))
          }
          return results
        }
      }
      return await group.reduce(into: [:]) { all, results in
        for (id, outcome) in results { all[id] = outcome }
      }
    }
  }

  var count: Int { singles / callers * callers + batches.reduce(0, +) }
}

extension [String: SoakOutcome] {
  var acceptedCount: Int { values.count { $0 == .accepted } }

  /// `accepted 1351, not sent: goaway 3`
  var summary: String {
    var counts: [String: Int] = [:]
    for outcome in values { counts[outcome.name, default: 0] += 1 }
    return counts.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)" }.joined(separator: ", ")
  }

  /// What does not agree with how often the server answered each ID with 200.
  func disagreements(with served: [String: Int]) -> [String] {
    compactMap { id, outcome in
      let count = served[id, default: 0]
      let isRight =
        switch outcome {
        case .accepted: count == 1
        case .refused, .notSent: count == 0
        case .unknown: count <= 1
        }
      return isRight ? nil : "\(id) was \(outcome.name), and was served \(count) times"
    }
  }
}
