import APNs
import Foundation
import Testing

/// A simulated APNs: a process of this package's program.
private struct Simulator: Decodable {
  var host: String
  var pushPort: Int
  var managementPort: Int
  var teamID: String
  var keyID: String
  var bundleIDs: [String]
  var trustFile: String
  var keyFile: String

  var hosts: APNsHosts {
    APNsHosts(
      push: APNsHost(name: host, port: pushPort),
      management: APNsHost(name: host, port: managementPort), trust: .file(trustFile))
  }

  static func run(_ body: (Simulator) async throws -> Void) async throws {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
      .deletingLastPathComponent().appendingPathComponent("fieldcast")
    process.arguments = [
      "simulate", "--push-port", "0", "--management-port", "0", "--folder", folder.path, "--json",
    ]
    let output = Pipe()
    process.standardOutput = output
    try process.run()
    defer {
      process.terminate()
      process.waitUntilExit()
      try? FileManager.default.removeItem(at: folder)
    }
    var line = Data()
    while line.last != UInt8(ascii: "\n") {
      let byte = try output.fileHandleForReading.read(upToCount: 1) ?? Data()
      if byte.isEmpty { break }
      line += byte
    }
    try await body(try JSONDecoder().decode(Simulator.self, from: line))
  }
}

@Suite(.timeLimit(.minutes(1))) struct `The library` {
  @Test func `does the example, with nothing but what it publishes`() async throws {
    try await Simulator.run { simulator in
      let log = try await announceDelay(
        of: "IC 512", key: try String(contentsOfFile: simulator.keyFile, encoding: .utf8),
        teamID: simulator.teamID, keyID: simulator.keyID,
        bundleID: try #require(simulator.bundleIDs.first), hosts: simulator.hosts)
      #expect(log.count == 2)
      // No phone of the simulator has this token.
      #expect(log.first == "forget it")
      #expect(log.last == "delay announced")
    }
  }

  @Test func `says what is wrong before anything is sent`() throws {
    #expect(throws: CryptoError.self) {
      try ProviderKey(teamID: "TEAM123456", keyID: "KEY1234567", pem: "no key")
    }
    #expect(throws: InvalidIdentifier.self) { try BundleID("com.example.app.voip") }
    #expect(throws: PushRuleError.priority(.background, .immediate)) {
      try Push(BackgroundPayload(), priority: .immediate)
    }
    #expect(throws: HTTPProxyAddressError.self) { try HTTPProxy(url: "nonsense") }
    #expect(throws: IdentityError.notPKCS12) { try ClientCertificate(pkcs12: [1], password: "") }
    #expect(throws: JSONError.self) { try JSONText(validating: "{") }
  }
}
