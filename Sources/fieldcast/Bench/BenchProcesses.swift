internal import EngineBench
internal import LoadHarness
internal import Transport

/// `fieldcast bench engine-server`: the server of a benchmark, started by `bench engine`.
package enum BenchServerCommand: Command {
  static let delay = Option<Int>.integer(
    ServerArguments.delay, in: 0...60_000, unit: "ms", default: 0, help: "How late it answers.")
  static let badTokens = Option<Bool>.flag(
    ServerArguments.badTokens, help: "Refuses tokens that end in 1 or 3.")
  static let folder = Option<String>.text(
    ServerArguments.folder, "FOLDER", default: ".",
    help: "Where certificate.pem and key.pem are.")

  package static let help = CommandHelp(
    "bench", "engine-server", summary: "Is the server of a benchmark",
    discussion: "Started by fieldcast bench engine. Writes its port, and runs until it is killed.",
    options: [delay.spec, badTokens.spec, folder.spec],
    examples: ["fieldcast bench engine-server --folder certificates"])

  package static func run(_ arguments: ParsedArguments) async throws -> ExitStatus {
    let loop = try EventLoop(name: "bench-server")
    var configuration = LeanServer.Configuration()
    configuration.answersAfter = .milliseconds(arguments[delay])
    configuration.knowsBadTokens = arguments[badTokens]
    let server = try await LeanServer.start(
      configuration,
      identity: TLSIdentity(
        certificateChainPEM: try TraceFailure.translated { () throws(TraceFileError) in
          try TraceFiles.read(arguments[folder] + "/certificate.pem")
        },
        privateKeyPEM: try TraceFailure.translated { () throws(TraceFileError) in
          try TraceFiles.read(arguments[folder] + "/key.pem")
        }), on: loop)
    Terminal.output.writeLine("\(server.port)")
    await StopSignal().wait()
    return .success
  }
}

/// `fieldcast bench engine-client`: the engine under measurement, started by `bench engine`.
package enum BenchClientCommand: Command {
  static let contender = Option<String>.choice(
    ClientArguments.contender, among: Contender.allCases.dropFirst().map(\.rawValue),
    default: Contender.async.rawValue, help: "How pushes are handed over.")
  static let inFlight = Option<Int>.integer(
    ClientArguments.inFlight, in: 1...100_000, unit: "", default: 100, help: "Open at once.")
  static let perSecond = Option<Int?>.integer(
    ClientArguments.perSecond, in: 1...1_000_000, unit: "", help: "Instead, so many a second.")
  static let requests = Option<Int>.integer(
    ClientArguments.requests, in: 1...Int.max, unit: "", default: 200_000, help: "In all.")
  static let badTokens = Option<Bool>.flag(
    ClientArguments.badTokens, help: "Pushes to a bad token every second time.")
  static let port = Option<Int>.integer(
    ClientArguments.port, in: 1...65_535, unit: "", default: 8443, help: "Of the server.")
  static let trust = Option<String>.text(
    ClientArguments.trust, "FILE", default: "ca.pem", help: "The certificate to trust.")

  package static let help = CommandHelp(
    "bench", "engine-client", summary: "Is the engine's side of a benchmark",
    discussion: "Started by fieldcast bench engine. Writes what it counted as a JSON object.",
    options: [
      contender.spec, inFlight.spec, perSecond.spec, requests.spec, badTokens.spec, port.spec,
      trust.spec,
    ],
    examples: ["fieldcast bench engine-client --port 8443 --trust ca.pem"])

  package static func run(_ arguments: ParsedArguments) async throws -> ExitStatus {
    var workload = Workload(
      arguments[perSecond].map { .perSecond($0) } ?? .inFlight(arguments[inFlight]),
      requests: arguments[requests])
    workload.halfBad = arguments[badTokens]
    guard let contender = Contender(rawValue: arguments[contender]) else { return .usage }
    let loop = try EventLoop(name: "bench-client")
    let task = Task(executorPreference: loop.tasks) { [port = arguments[port]] in
      let driver = try await EngineDriver(
        workload, port: port, trustFile: arguments[trust], on: loop)
      return await driver.run(contender)
    }
    let run = try await task.value
    Terminal.output.writeLine(String(decoding: run.json.serialized(), as: UTF8.self))
    return .success
  }
}
