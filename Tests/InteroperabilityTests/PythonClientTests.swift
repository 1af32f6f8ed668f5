import APNsSimulator
import Crypto
import Foundation
import Testing
import Transport

/// The simulator and public clients, unchanged. They come from a package index, so on a machine
/// that reaches none these tests do not run, and say so.
@Suite(
  .timeLimit(.minutes(2)),
  .enabled(if: Installed.python != nil, "\(Installed.reason("clients"))"))
struct `Python's clients and the simulator` {
  @Test func `agree on every answer: httpx`() async throws {
    let configuration = Site.configured { $0.connections.disconnectAfterRefusals = nil }
    try await Site.with(configuration) { site in
      let cases = WireCase.all(site)
      let answers: [WireAnswer] = try await run(
        "httpx_requests.py", HTTPXTask(site, cases), site)
      try #require(answers.count == cases.count)
      for (answer, expected) in zip(answers, cases) { answer.expect(expected, hasHistory: true) }
      #expect(await site.simulator.connectionRecords.count == 2)
      print("httpx: \(cases.count) requests over two connections")
    }
  }

  @Test func `agree on a client certificate: httpx`() async throws {
    try await Site.with { site in
      var expected = WireCase.all(site)[0]
      expected.fields.removeAll { $0.name == "authorization" || $0.name == "apns-topic" }
      var task = HTTPXTask(site, [expected])
      task.certificate = try #require(site.access.certificateFile)
      let answers: [WireAnswer] = try await run("httpx_requests.py", task, site)
      #expect(answers.map(\.status) == [200])
    }
  }

  @Test func `agree on every answer: aioapns`() async throws {
    try await Site.with { site in
      let cases = AioapnsCase.all(site)
      let task = try AioapnsTask(site, cases.map(\.push))
      let answers: AioapnsAnswers = try await run("aioapns_pushes.py", task, site)
      try #require(answers.pushes.count == cases.count)
      for (answer, expected) in zip(answers.pushes, cases) { answer.expect(expected) }
      #expect(answers.forged.map(\.reason) == ["InvalidProviderToken"])
      #expect(answers.forged.map(\.status) == [403])
      #expect(answers.certificate.map(\.status) == [200])
      #expect(answers.many.count == task.many)
      #expect(answers.many.allSatisfy { $0.isSuccessful })
      #expect(Set(answers.many.map(\.id)).count == task.many)
      print("aioapns: \(cases.count + 2) pushes one by one, \(task.many) at once")
    }
  }

  private func run<Answer: Decodable>(
    _ script: String, _ task: some Encodable, _ site: Site
  ) async throws -> Answer {
    try site.folder.write(try JSONEncoder().encode(task), as: "task.json")
    let process = try await Subprocess.start(
      Installed.python ?? "",
      arguments: [
        "-I", Installed.folder.appendingPathComponent("Clients/\(script)").path,
        site.folder.path("task.json"),
      ], outputPath: site.folder.path("answers.json"), on: site.loop)
    let status = await process.waitForExit()
    let output = Data(try site.folder.read("answers.json"))
    try #require(
      status == 0, "\(script) ended with \(status): \(String(decoding: output, as: UTF8.self))")
    return try JSONDecoder().decode(Answer.self, from: output)
  }
}

private struct HTTPXTask: Encodable {
  struct Request: Encodable {
    var port: String
    var method: String
    var path: String
    var fields: [[String]]
    var body: String
  }

  var trust: String
  /// Empty for none.
  var certificate = ""
  var push: Int
  var management: Int
  var cases: [Request]

  init(_ site: Site, _ cases: [WireCase]) {
    trust = site.trustFile
    push = site.access.pushPort
    management = site.access.managementPort
    self.cases = cases.map {
      Request(
        port: $0.port.rawValue, method: $0.method, path: $0.path,
        fields: $0.fields.map { [$0.name, $0.value] }, body: $0.body)
    }
  }
}

private struct AioapnsPush: Encodable {
  var token: String
  var message: [String: [String: String]]
  var id: String?
  var timeToLive: Int?
  var priority: Int?
  var collapseID: String?
  var type: String? = "alert"
  var topic: String?
}

private struct AioapnsCase {
  var push: AioapnsPush
  var status: Int
  var reason: String?

  /// What aioapns lets a caller ask for, right and wrong.
  static func all(_ site: Site) -> [AioapnsCase] {
    let phones = site.phones
    func push(
      _ token: String, _ status: Int, _ reason: String? = nil,
      _ change: (inout AioapnsPush) -> Void = { _ in }
    ) -> AioapnsCase {
      var push = AioapnsPush(token: token, message: ["aps": ["alert": "Tide 🌊"]])
      change(&push)
      return AioapnsCase(push: push, status: status, reason: reason)
    }
    return [
      push(phones.device, 200),
      push(phones.device, 200) {
        $0.id = "0a020a52-6f0c-4cf3-9f2e-0123456789ab"
        ($0.timeToLive, $0.priority, $0.collapseID) = (600, 5, "tide")
      },
      push(phones.start, 200) {
        ($0.type, $0.topic) = ("liveactivity", site.bundleID + ".push-type.liveactivity")
      },
      push(phones.calls, 200) { ($0.type, $0.topic) = ("voip", site.bundleID + ".voip") },
      push(phones.device, 400, "MissingPushType") { $0.type = nil },
      push(phones.device, 400, "BadPriority") { $0.type = "background" },
      push(phones.device, 400, "BadTopic") { $0.type = "complication" },
      push(phones.device, 400, "BadTopic") { $0.topic = "com.example.nobody" },
      push(phones.device, 400, "TopicDisallowed") { $0.topic = Site.strangersBundleID },
      push(phones.device, 400, "DeviceTokenNotForTopic") { $0.topic = Site.otherBundleID },
      push(phones.device, 400, "BadCollapseId") {
        $0.collapseID = String(repeating: "c", count: 65)
      },
      push("00112233aabbccdd", 400, "BadDeviceToken"),
      push(phones.wrongEnvironment, 400, "BadDeviceToken"),
      push(phones.unregistered, 410, "Unregistered"),
      push(phones.expired, 410, "ExpiredToken"),
      push(phones.device, 413, "PayloadTooLarge") {
        $0.message["long"] = ["text": String(repeating: "x", count: 4096)]
      },
      push(phones.busy, 429, "TooManyRequests"),
    ]
  }
}

private struct AioapnsTask: Encodable {
  var push: Int
  var trust: String
  var topic: String
  var key: String
  var keyID: String
  var teamID: String
  var forgedKey: String
  var certificate: String
  var pushes: [AioapnsPush]
  var many = 60

  init(_ site: Site, _ pushes: [AioapnsPush]) throws {
    push = site.access.pushPort
    trust = site.trustFile
    topic = site.bundleID
    key = String(decoding: site.access.providerKeyPEM, as: UTF8.self)
    keyID = site.access.keyID
    teamID = site.access.teamID
    forgedKey = String(decoding: try P256PrivateKey.generate().pkcs8PEM(), as: UTF8.self)
    certificate = try #require(site.access.certificateFile)
    self.pushes = pushes
  }
}

private struct AioapnsAnswers: Decodable {
  struct Answer: Decodable {
    var id: String
    var status: Int
    var reason: String?
    var timestamp: Int64?
    var isSuccessful: Bool

    func expect(_ expected: AioapnsCase) {
      #expect(status == expected.status, "\(expected.reason ?? "accepted"): \(reason ?? "-")")
      #expect(reason == expected.reason)
      #expect(isSuccessful == (expected.status == 200))
      #expect(timestamp == (expected.status == 410 ? 1_790_000_000_123 : nil))
    }
  }

  var pushes: [Answer]
  var forged: [Answer]
  var certificate: [Answer]
  var many: [Answer]
}
