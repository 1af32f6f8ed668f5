internal import EngineBench
internal import Foundation
internal import Transport

/// `fieldcast bench engine`: what a push costs, beside h2load.
package enum BenchEngineCommand: Command {
  static let rounds = Option<Int>.integer(
    "rounds", in: 1...101, unit: "rounds", default: 5,
    help: "How often each runs. Ratios are between the runs of one round.")
  static let requests = Option<Int>.integer(
    "requests", in: 10...10_000_000, unit: "requests", default: 200_000,
    help: "Of the longest runs; where a request takes longer, fewer are made.")
  static let nghttpd = Option<Bool>.flag(
    "nghttpd",
    help: "Uses nghttpd as the server. Runs with late answers or refusals are left out then.")
  static let json = Option<Bool>.flag("json", help: "Writes a JSON object.")

  package static let help = CommandHelp(
    "bench", "engine", summary: "Measures the push engine against h2load",
    discussion: """
      Starts a server, and sends it the same pushes with h2load and with the engine by turns: POST \
      with APNs' fields and 300 bytes over one TLS connection. The engine does all that it does in \
      the service: deadlines, retries, the provider token, a result for each push. Shown are each \
      client's processor time (user and system, its start-up taken off), its rate, and both \
      divided by h2load's in the same round. Needs h2load, in Debian's package nghttp2-client. \
      With 200,000 requests it takes about three minutes; other programs that run meanwhile \
      disturb it.
      """,
    options: [rounds.spec, requests.spec, nghttpd.spec, json.spec],
    examples: ["fieldcast bench engine", "fieldcast bench engine --rounds 9 --json"],
    statuses: [.unavailable])

  package static func run(_ arguments: ParsedArguments) async throws -> ExitStatus {
    guard let program = Bundle.main.executablePath else {
      throw CommandFailure(.internalError, "This program's own file cannot be found.")
    }
    var settings = EngineBench.Settings(program: program)
    settings.rounds = arguments[rounds]
    settings.requests = arguments[requests]
    settings.usesNghttpd = arguments[nghttpd]
    let loop = try EventLoop(name: "bench")
    defer { loop.stop() }
    do {
      let report = try await EngineBench.run(settings, on: loop) { Terminal.errors.writeLine($0) }
      Terminal.output.write(
        arguments[json]
          ? String(decoding: report.json.serialized(), as: UTF8.self) + "\n"
          : EngineBenchTable(report, style: Terminal.output.style).text)
    } catch let failure as BenchFailure {
      throw CommandFailure(.unavailable, failure.description)
    }
    return .success
  }
}
