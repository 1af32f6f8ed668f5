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
    let program = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
      .deletingLastPathComponent().appendingPathComponent("fieldcast").path
    let (processID, output) = try start(
      program,
      [
        "simulate", "--push-port", "0", "--management-port", "0", "--folder", folder.path, "--json",
      ])
    defer {
      kill(processID, SIGTERM)
      waitpid(processID, nil, 0)
      try? FileManager.default.removeItem(at: folder)
    }
    var line = Data()
    while line.last != UInt8(ascii: "\n") {
      let byte = try output.read(upToCount: 1) ?? Data()
      if byte.isEmpty { break }
      line += byte
    }
    try await body(try JSONDecoder().decode(Simulator.self, from: line))
  }

  /// Not Foundation's `Process`: its pipes are inherited by whatever else starts just then, and it
  /// does not hear of an end in a program with over a thousand open files.
  private static func start(_ program: String, _ words: [String]) throws -> (pid_t, FileHandle) {
    var pipe: [Int32] = [0, 0]
    try #require(Glibc.pipe(&pipe) == 0)
    for end in pipe { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    posix_spawn_file_actions_adddup2(&actions, pipe[1], STDOUT_FILENO)
    var arguments: [UnsafeMutablePointer<CChar>?] = ([program] + words).map { strdup($0) } + [nil]
    defer {
      for argument in arguments { free(argument) }
      posix_spawn_file_actions_destroy(&actions)
      close(pipe[1])
    }
    var processID = pid_t()
    let failure = posix_spawn(&processID, program, &actions, nil, &arguments, nil)
    try #require(failure == 0, "\(program): \(String(cString: strerror(failure)))")
    return (processID, FileHandle(fileDescriptor: pipe[0], closeOnDealloc: true))
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
