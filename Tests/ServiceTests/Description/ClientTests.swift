import FieldcastServer
import Foundation
import Testing
import Transport

/// Others' programs, as deploy/lib.sh installs them into a virtual environment.
private enum Clients {
  static let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
    .appendingPathComponent("Clients")
  private static let build = folder.deletingLastPathComponent().deletingLastPathComponent()
    .deletingLastPathComponent().deletingLastPathComponent().appendingPathComponent(".build")

  static let python = program("python")
  static let schemathesis = program("schemathesis")

  static var isMissing: Comment {
    let text = try? String(
      contentsOf: build.appendingPathComponent("clients.missing"), encoding: .utf8)
    return "\(text ?? "the clients were not installed; deploy/test does it")"
  }

  private static func program(_ name: String) -> String? {
    let path = build.appendingPathComponent("clients/bin/\(name)").path
    return FileManager.default.isExecutableFile(atPath: path) ? path : nil
  }
}

/// Programs that know OpenAPI and nothing of Fieldcast.
@Suite(.timeLimit(.minutes(3)), .enabled(if: Clients.schemathesis != nil, Clients.isMissing))
struct `Others' clients of the API` {
  @Test func `find its description in order, and every example as it says`() async throws {
    try await World.with { world in
      try await world.withService { caller in
        let file = world.folder.appendingPathComponent("openapi.json")
        try await caller.call("GET", "/openapi.json").text.write(
          to: file, atomically: false, encoding: .utf8)
        let script = Clients.folder.appendingPathComponent("check_description.py")
        let said = try await run(Clients.python, ["-I", script.path, file.path], world)
        #expect(said.hasSuffix(" examples\n"), "\(said)")
      }
    }
  }

  /// Requests that are right, wrong at one place, and whole sequences, made from the description; a
  /// longer and other run by `FIELDCAST_SCHEMATHESIS`, the arguments to add.
  @Test func `find nothing that it does not say: schemathesis`() async throws {
    let token = AccessToken()
    let list = try AccessList(
      parsing: token.entry(name: "schemathesis", scopes: AccessScope.allCases))
    try await World.with(speed: 1) { world in
      try await world.withService({ $0.access = list }) { caller in
        let bearer = "Bearer \(token.text)"
        let made = try await caller.call(
          "POST", "/v1/trips", #"{"name":"Shore","notebook":"Pools"}"#,
          fields: ["authorization": bearer])
        let trip = try #require(made.body["trip"]?.string)
        let settings = try String(
          contentsOf: Clients.folder.appendingPathComponent("schemathesis.toml"), encoding: .utf8)
        let file = world.folder.appendingPathComponent("schemathesis.toml")
        try settings.replacing("TRIP", with: trip).replacing("BEARER", with: bearer)
          .write(to: file, atomically: false, encoding: .utf8)
        let more = ProcessInfo.processInfo.environment["FIELDCAST_SCHEMATHESIS"] ?? ""
        let said = try await run(
          Clients.schemathesis,
          ["--config-file", file.path, "run", "http://\(caller.endpoint)/openapi.json"]
            + more.split(separator: " ").map(String.init), world)
        print(said.split(separator: "\n").suffix(12).joined(separator: "\n"))
      }
    }
  }

  private func run(
    _ program: String?, _ arguments: [String], _ world: World
  ) async throws -> String {
    let output = world.folder.appendingPathComponent("said.txt")
    let process = try await Subprocess.start(
      try #require(program), arguments: arguments, outputPath: output.path, on: world.loop)
    let status = await process.waitForExit()
    let said = try String(contentsOf: output, encoding: .utf8)
    #expect(status == 0, "\(said)")
    return said
  }
}
