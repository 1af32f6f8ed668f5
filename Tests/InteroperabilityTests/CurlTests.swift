import APNsSimulator
import Foundation
import Testing
import Transport

/// The simulator and a client that is not ours: curl, with nothing but its options.
@Suite(.timeLimit(.minutes(2)), .enabled(if: Installed.curl != nil, "there is no curl"))
struct `curl and the simulator` {
  @Test func `agree on every answer`() async throws {
    try await Site.with { site in
      let cases = WireCase.all(site)
      for expected in cases {
        let answer = try #require(
          WireAnswer(curl: try await run(request(expected, site), site)), "\(expected.name)")
        answer.expect(expected, hasHistory: false)
      }
      print("curl: \(cases.count) requests, each on a connection of its own")
    }
  }

  @Test func `agree over one connection`() async throws {
    try await Site.with { site in
      let expected = Array(WireCase.all(site).prefix(5))
      let arguments = try expected.flatMap { try request($0, site) + ["--next"] }.dropLast()
      let output = try await run(Array(arguments), site)
      #expect(output.matches(of: /HTTP\/2 200/).count == expected.count)
      #expect(await site.simulator.connectionRecords.map(\.requests) == [expected.count])
    }
  }

  @Test func `agree on a client certificate in place of provider tokens`() async throws {
    try await Site.with { site in
      let certificate = try #require(site.access.certificateFile)
      for (token, status) in [(site.phones.device, 200), (site.phones.expired, 410)] {
        let output = try await run(
          [
            "--http2", "--silent", "--show-error", "--cacert", site.trustFile, "--include",
            "--cert", certificate, "--header", "apns-push-type: alert",
            "--data", #"{"aps":{"alert":"x"}}"#,
            "https://localhost:\(site.access.pushPort)/3/device/\(token)",
          ], site)
        #expect(WireAnswer(curl: output)?.status == status)
      }
    }
  }

  @Test(arguments: [
    ("429=100%", 429, "TooManyRequests"), ("500=100%", 500, "InternalServerError"),
    ("503=100%", 503, "ServiceUnavailable"), ("expired=100%", 403, "ExpiredProviderToken"),
  ])
  func `agree on a server in trouble`(_ faults: String, _ status: Int, _ reason: String)
    async throws
  {
    let faults = try FaultText.parse(faults)
    try await Site.with(Site.configured { $0.faults = faults }) { site in
      var expected = WireCase.all(site)[0]
      (expected.status, expected.reason) = (status, reason)
      let output = try await run(request(expected, site), site)
      let answer = try #require(WireAnswer(curl: output))
      answer.expect(expected, hasHistory: false)
    }
  }

  private func request(_ asked: WireCase, _ site: Site) throws -> [String] {
    let port = asked.port == .push ? site.access.pushPort : site.access.managementPort
    var arguments = [
      "--http2", "--silent", "--show-error", "--cacert", site.trustFile, "--include",
      "--request", asked.method,
    ]
    // Of fields that curl sends by itself APNs documents none.
    for field in asked.fields { arguments += ["--header", "\(field.name): \(field.value)"] }
    if !asked.body.isEmpty {
      let name = "body-\(UUID().uuidString)"
      try site.folder.write(asked.body.utf8, as: name)
      arguments += ["--data-binary", "@" + site.folder.path(name)]
    }
    return arguments + ["https://localhost:\(port)\(asked.path)"]
  }

  private func run(_ arguments: [String], _ site: Site) async throws -> String {
    // Output is appended, so each call has a file of its own.
    let output = "output-\(UUID().uuidString)"
    let process = try await Subprocess.start(
      Installed.curl ?? "", arguments: arguments, outputPath: site.folder.path(output),
      on: site.loop)
    let status = await process.waitForExit()
    let text = String(decoding: try site.folder.read(output), as: UTF8.self)
    try #require(status == 0, "curl ended with \(status): \(text)")
    return text
  }
}
