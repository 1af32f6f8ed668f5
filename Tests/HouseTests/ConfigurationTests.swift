import Foundation
import Testing
import Transport

@testable import fieldcast

@Suite final class `The configuration` {
  private let folder: TemporaryFolder
  private let path: String

  init() throws {
    folder = try TemporaryFolder(for: "configuration")
    path = folder.path + "/fieldcast.json"
  }

  deinit { folder.remove() }

  private func parse(
    _ file: String, _ words: String..., environment: [String: String] = [:]
  ) throws -> ParsedArguments {
    try file.write(toFile: path, atomically: false, encoding: .utf8)
    let parser = ArgumentParser(help: ServeCommand.help, environment: environment)
    return try #require(try parser.parse(["--config", path] + words))
  }

  @Test func `takes the command line before the environment, the file and the default`() throws {
    let file = #"{"budget": 30, "lease": 7, "grace": "20", "node": null, "log-json": true}"#
    let found = try parse(
      file, "--budget", "50",
      environment: ["FIELDCAST_BUDGET_PER_HOUR": "40", "FIELDCAST_LEASE": "9"])
    #expect(found[ServiceOptions.budget] == 50)
    #expect(found.source(of: ServiceOptions.budget.spec) == .flag)
    #expect(found[ServiceOptions.lease] == 9)
    #expect(found.source(of: ServiceOptions.lease.spec) == .environment("FIELDCAST_LEASE"))
    #expect(found[ServiceOptions.grace] == 20)
    #expect(found.source(of: ServiceOptions.grace.spec) == .file(path))
    #expect(found[ServiceOptions.reconcile] == 10)
    #expect(found.source(of: ServiceOptions.reconcile.spec) == .fallback)
    #expect(found[ServeCommand.logJSON])
    #expect(!found.isGiven(ServiceOptions.node))
  }

  @Test func `says by a URL where spans go`() throws {
    func collector(_ url: String) throws -> (endpoint: String, authority: String, path: String)? {
      let found = try ServiceOptions.traceCollector(from: try parse("{}", "--trace-collector", url))
      return found.map { ("\($0.endpoint)", $0.authority, $0.path) }
    }
    #expect(try ServiceOptions.traceCollector(from: try parse("{}")) == nil)
    #expect(
      try #require(try collector("http://127.0.0.1:4318"))
        == ("127.0.0.1:4318", "127.0.0.1:4318", "/v1/traces"))
    #expect(
      try #require(try collector("https://traces.example.com/otlp/v1/traces"))
        == ("traces.example.com:443", "traces.example.com", "/otlp/v1/traces"))
    #expect(
      try #require(try collector("http://[::1]:4318/"))
        == ("[::1]:4318", "[::1]:4318", "/v1/traces"))
    for wrong in ["127.0.0.1:4318", "ftp://a.example", "http://", "http:" + "//u:secret@a.example"]
    {
      #expect(throws: CommandFailure.self, "\(wrong)") { try collector(wrong) }
    }
  }

  @Test func `may be named by the environment`() throws {
    try #"{"lease": 3}"#.write(toFile: path, atomically: false, encoding: .utf8)
    let parser = ArgumentParser(
      help: ServeCommand.help, environment: ["FIELDCAST_CONFIG": path])
    #expect(try parser.parse([])?[ServiceOptions.lease] == 3)
  }

  @Test func `has all that is wrong named, with what was probably meant`() throws {
    let error = #expect(throws: UsageError.self) {
      try parse(
        #"{"buget": 3, "lease": 90, "listen": [], "config": "x", "accept-type-changes": 2}"#)
    }
    #expect(error?.status == .configuration)
    #expect(
      error?.message.split(separator: "\n").map(String.init) == [
        "\(path): there is no setting \"buget\". Did you mean \"budget\"?",
        "\(path): \"lease\" 90: expected 1...60 s.",
        "\(path): \"listen\" is no text, number, true or false: expected a text that is not empty.",
        "\(path): there is no setting \"config\".",
        "\(path): \"accept-type-changes\" 2: expected 1 or 0.",
      ])
    for text in ["", "[]", "{\"lease\": 1, \"lease\": 2}", "lease: 5"] {
      #expect(throws: UsageError.self) { try parse(text) }
    }
    let absent = ArgumentParser(help: ServeCommand.help, environment: [:])
    #expect(throws: UsageError.self) { try absent.parse(["--config", path + ".no"]) }
  }

  @Test func `is wrong also where it is overruled`() throws {
    #expect(throws: UsageError.self) { try parse(#"{"lease": 90}"#, "--lease", "5") }
  }

  @Test(arguments: [
    ("redis://user:se@cret@host:6379/1", "redis://user:***@host:6379/1"),
    ("redis://:secret@host", "redis://:***@host"),
    ("http://proxy.example:3128", "http://proxy.example:3128"),
    ("unix:///run/redis.sock", "unix:///run/redis.sock"), ("127.0.0.1:8080", "127.0.0.1:8080"),
    ("rediss://user@host/a:b@c", "rediss://user@host/a:b@c"),
  ])
  func `is shown without passwords`(text: String, shown: String) {
    #expect(ConfigShowCommand.masked(text) == shown)
  }

  /// One list: what can be said in one way can be said in all three.
  @Test func `has a variable for every setting`() {
    let options = ServeCommand.options
    for option in options {
      #expect(option.environment?.hasPrefix("FIELDCAST_") == true, "\(option.name)")
    }
    #expect(Set(options.compactMap(\.environment)).count == options.count)
  }
}
