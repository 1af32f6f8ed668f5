internal import FieldTrips
internal import LoadHarness

/// `fieldcast bench coalescing`: how close the publishing rule comes to what physics allows.
package enum BenchCoalescingCommand: Command {
  static let traces = Option<String?>.text(
    "traces", "PATH", environment: "FIELDCAST_TRACES",
    help: """
      A folder of recorded traces, or one. Without it, only days that the generator invents are \
      replayed.
      """)
  static let budgets = Option<String>.text(
    "budgets", "LIST", default: "30,60,120",
    help: """
      Priority-10 broadcasts an hour, separated by commas: divisors of 3600 from 12 to 1800. \
      Bursts are ten minutes' worth.
      """)
  static let service = Option<Bool>.flag(
    "service",
    help: """
      Plays the traces through a whole service with a Redis and a simulated APNs of its own, \
      all at once, and takes the figures from APNs' record. Only the recorded ones where there \
      are any, at the first of the budgets, or 60 if none is named.
      """)
  static let speed = Option<Double>.number(
    "speed", in: 1...1_000, unit: "times the traces' own pace", default: 120,
    help: """
      With --service: scales the clock of all. The machine's own delays count as many times: the \
      slower, the truer.
      """)
  static let hours = Option<Double>.number(
    "hours", in: 0.25...72, unit: "hours", default: 72,
    help: "With --service: plays no more than so much of the beginning of each trace.")
  static let json = Option<Bool>.flag(
    "json", help: "Writes a JSON object; ratio_to_optimum is the headline.")

  package static let help = CommandHelp(
    "bench", "coalescing", summary: "Measures how fresh cards are for a given budget",
    discussion: """
      Replays days in the field through the publishing rule of the service on a virtual clock, \
      and through what others do instead, and holds them against the optimum: the schedule that \
      knows the future. Recorded traces and invented ones are never pooled. Captures that were \
      noted to the whole minute are spread over it first, always the same way.
      """,
    options: [traces.spec, budgets.spec, service.spec, speed.spec, hours.spec, json.spec],
    examples: [
      "fieldcast bench coalescing", "fieldcast bench coalescing --traces traces --json",
      "fieldcast bench coalescing --traces my-day.csv --budgets 12,60",
      "fieldcast bench coalescing --traces traces --service --speed 60",
      "fieldcast bench coalescing --traces traces --service --speed 30 --hours 4",
    ],
    statuses: [.checkFailed, .badInput, .noInput, .unavailable])

  package static func run(_ arguments: ParsedArguments) async throws -> ExitStatus {
    let budgets = try budgets(from: arguments[budgets])
    let pools = try Pool.all(recordedAt: arguments[traces])
    guard !arguments[service] else { return try await runService(pools[0], budgets, arguments) }
    let trips = pools.reduce(0) { $0 + $1.traces.count }
    let progress = ProgressLine("optimum", of: trips * budgets.count)
    var reported: [CoalescingReport.Pool] = []
    for pool in pools {
      let comparisons = await compare(pool.trips, at: budgets, progress)
      reported.append(CoalescingReport.Pool(pool.kind, comparisons))
    }
    progress.finish()
    let report = CoalescingReport(reported)
    Terminal.output.write(
      arguments[json]
        ? report.json() + "\n" : report.text(coloured: Terminal.output.style.isColoured))
    return report.brokenPromises.isEmpty ? .success : .checkFailed
  }

  private static func runService(
    _ pool: Pool, _ budgets: [ReplayBudget], _ arguments: ParsedArguments
  ) async throws -> ExitStatus {
    let budget = arguments.isGiven(Self.budgets) ? budgets[0] : ReplayBudget(perHour: 60)
    let progress = ProgressLine("percent of the longest trip", of: 100)
    let report: ServiceCoalescing
    do {
      report = try await CoalescingStage.play(
        pool.trips.map { $0.prefix(seconds: Int(arguments[hours] * 3_600)) }, pool.kind,
        budget ?? budgets[0], speed: arguments[speed]
      ) { progress.show(Int($0 * 100)) }
    } catch {
      throw CommandFailure(.unavailable, "The traces could not be played: \(error)")
    }
    progress.finish()
    let coloured = Terminal.output.style.isColoured
    Terminal.output.write(arguments[json] ? report.json() + "\n" : report.text(coloured: coloured))
    return report.brokenPromises.isEmpty ? .success : .checkFailed
  }

  /// Traces to be pooled.
  struct Pool {
    let kind: CoalescingReport.Pool.Kind
    let traces: [CaptureTrace]

    var trips: [ReplayTrip] { traces.map { ReplayTrip(spreading: $0) } }

    /// Recorded traces, if there are any, and invented ones.
    static func all(recordedAt path: String?) throws(CommandFailure) -> [Pool] {
      var pools: [Pool] = []
      if let path {
        let traces = try TraceFailure.translated { () throws(TraceFileError) in
          try TraceFiles.all(at: path)
        }
        guard traces.allSatisfy({ !$0.captures.isEmpty }) else {
          throw CommandFailure(.badInput, "\(path) has a trace without captures.")
        }
        pools.append(Pool(kind: .recorded, traces: traces))
      }
      let invented = TraceGenerator.Shape.all.flatMap { shape in
        (1...3).map { TraceGenerator.trace(shape, seed: $0) }
      }
      return pools + [Pool(kind: .generated, traces: invented)]
    }
  }

  static func budgets(from list: String) throws(CommandFailure) -> [ReplayBudget] {
    var budgets: [ReplayBudget] = []
    for word in list.split(separator: ",", omittingEmptySubsequences: false) {
      guard let number = Int(word.filter { $0 != " " }), let budget = ReplayBudget(perHour: number)
      else {
        throw CommandFailure(
          .usage,
          "--budgets \(list): \(word.isEmpty ? "an empty entry" : String(word)) is no divisor of "
            + "3600 from 12 to 1800, so that a token would not take whole seconds.")
      }
      if !budgets.contains(budget) { budgets.append(budget) }
    }
    return budgets
  }

  /// The optima take nearly all of the time, so that they are found side by side.
  private static func compare(
    _ trips: [ReplayTrip], at budgets: [ReplayBudget], _ progress: ProgressLine
  ) async -> [PolicyComparison] {
    let jobs = budgets.flatMap { budget in trips.map { (budget, $0) } }
    let optima = await withTaskGroup(of: (Int, PolicyComparison.Optimum).self) { group in
      for (index, job) in jobs.enumerated() {
        group.addTask { (index, PolicyComparison.Optimum(job.1, job.0)) }
      }
      var found: [Int: PolicyComparison.Optimum] = [:]
      for await (index, optimum) in group {
        found[index] = optimum
        progress.step()
      }
      return jobs.indices.compactMap { found[$0] }
    }
    return budgets.enumerated().map { index, budget in
      let mine = optima[index * trips.count..<(index + 1) * trips.count]
      return PolicyComparison(trips, Array(mine), budget)
    }
  }
}
