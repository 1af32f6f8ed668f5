internal import APNs
internal import Clocks
internal import Crypto
internal import JSON
package import Transport

/// Runs the push engine and h2load by turns against one server, each in a process of its own.
///
/// Clients share one processor and the server has another, where the machine has two. What a
/// process costs before it sends is measured in runs of as few requests as are open at once, and
/// taken off: for both alike.
package final class EngineBench: Sendable {
  package struct Settings: Sendable {
    package var rounds = 5
    /// Of the longest runs; others have a part of it, so that they take as long.
    package var requests = 200_000
    /// Uses `nghttpd` as the server, which neither delays nor refuses.
    package var usesNghttpd = false
    /// Our own program, which knows how to be the server and the client.
    package var program: String

    package init(program: String) { self.program = program }
  }

  /// The words that make our program one of the processes.
  package static let serverWords = ["bench", "engine-server"]
  package static let clientWords = ["bench", "engine-client"]

  private let settings: Settings
  private let scratch: Scratch
  private let loop: EventLoop
  private let h2load: String
  private let fields: [String]
  private let processors: (client: Int?, server: Int?)
  private let progress: @Sendable (String) -> Void

  /// - Parameter progress: is told what begins.
  package static func run(
    _ settings: Settings, on loop: EventLoop, progress: @escaping @Sendable (String) -> Void
  ) async throws -> EngineBenchReport {
    let scratch = try Scratch()
    defer { scratch.remove() }
    let bench = try EngineBench(settings, scratch, loop, progress)
    return try await bench.report()
  }

  private init(
    _ settings: Settings, _ scratch: Scratch, _ loop: EventLoop,
    _ progress: @escaping @Sendable (String) -> Void
  ) throws {
    self.settings = settings
    self.scratch = scratch
    self.loop = loop
    self.progress = progress
    h2load = try H2Load.executable()
    let now = WallClock.now()
    fields = try BenchRequest.fields(key: BenchRequest.makeKey(), now: now)
    processors = Machine.processors >= 2 ? (0, 1) : (nil, nil)
    try BenchServer.writeCertificate(in: scratch, now: now)
    try scratch.write(BenchRequest.body, as: "body")
  }

  private func report() async throws -> EngineBenchReport {
    var report = EngineBenchReport(machine: Machine.description, settings: settings)
    for (server, contests) in Contest.standard(settings) {
      let running = try await BenchServer.start(
        server, program: settings.program, in: scratch, processor: processors.server, on: loop)
      defer { running.stop() }
      for contest in contests { report.rows += try await run(contest, at: running.port) }
    }
    report.loadAfter = Machine.load
    return report
  }

  /// All rounds of one contest; those of odd number in reverse order.
  private func run(_ contest: Contest, at port: Int) async throws -> [EngineBenchReport.Row] {
    let urls = BenchTokens.make(halfBad: false).map { "https://127.0.0.1:\(port)/3/device/\($0)" }
    try scratch.write(Array(urls.joined(separator: "\n").utf8), as: "urls")
    var rows = contest.entries.map { EngineBenchReport.Row($0.workload, $0.contender) }
    for index in rows.indices { rows[index].startUp = try await startUp(rows[index], at: port) }
    for round in 0..<settings.rounds {
      let order = Array(rows.indices)
      for index in round % 2 == 0 ? order : order.reversed() {
        progress(
          "round \(round + 1) of \(settings.rounds): \(rows[index].workload.title), "
            + rows[index].contender.title)
        rows[index].runs.append(
          try await measure(rows[index].contender, rows[index].workload, at: port))
      }
    }
    return rows
  }

  /// What a run costs that sends next to nothing; the median of three.
  private func startUp(_ row: EngineBenchReport.Row, at port: Int) async throws -> BenchRun {
    var shortest = row.workload
    shortest.requests = row.workload.width
    var runs: [BenchRun] = []
    for _ in 0..<3 { runs.append(try await measure(row.contender, shortest, at: port)) }
    return runs.sorted { $0.processorSeconds < $1.processorSeconds }[1]
  }

  private func measure(
    _ contender: Contender, _ workload: Workload, at port: Int
  ) async throws -> BenchRun {
    if contender == .h2load {
      let (output, seconds) = try await spawn(
        h2load,
        H2Load.arguments(
          workload, urls: scratch.file("urls"), body: scratch.file("body"), fields: fields))
      guard let summary = H2Load.summary(of: output), summary.succeeded == workload.requests else {
        throw BenchFailure("h2load did not get all of its answers:\n\(output.suffix(2_000))")
      }
      return BenchRun(
        requests: workload.requests, processorSeconds: seconds, perSecond: summary.perSecond)
    }
    let (output, seconds) = try await spawn(
      settings.program,
      Self.clientWords + ClientArguments.words(workload, contender, port, scratch.file("ca.pem")))
    guard let json = try? JSONValue.parse(Array(output.utf8)), let said = EngineRun(json) else {
      throw BenchFailure("The engine's process did not come to its end:\n\(output.suffix(2_000))")
    }
    guard said.failed == 0, said.accepted + said.refused == workload.requests,
      workload.halfBad || said.refused == 0
    else {
      throw BenchFailure(
        "The engine got \(said.accepted) acceptances, \(said.refused) refusals and \(said.failed) "
          + "failures for \(workload.requests) requests. \(said.firstFailure)")
    }
    return BenchRun(
      requests: workload.requests, processorSeconds: seconds,
      perSecond: Double(workload.requests) / said.seconds, engine: said)
  }

  /// Runs a program to its end: what it wrote, and the seconds of processor time that it took.
  private func spawn(_ path: String, _ arguments: [String]) async throws -> (String, Double) {
    let output = scratch.file("output")
    try scratch.write([], as: "output")
    let process = try await Subprocess.start(
      path, arguments: arguments, outputPath: output, processor: processors.client, on: loop)
    let status = await withTaskCancellationHandler {
      await process.waitForExit()
    } onCancel: {
      process.terminate()
    }
    let text = Scratch.read(output) ?? ""
    guard status == 0, let time = process.processorTime else {
      throw BenchFailure("\(path) ended with status \(status):\n\(text.suffix(2_000))")
    }
    return (text, time.inSeconds)
  }
}
