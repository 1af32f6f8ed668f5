package import JSON

/// One run of one contender.
package struct BenchRun: Sendable, Equatable {
  package var requests: Int
  /// User and system time of the whole process.
  package var processorSeconds: Double
  package var perSecond: Double
  /// Nil for a program that is not ours.
  package var engine: EngineRun?

  package init(
    requests: Int, processorSeconds: Double, perSecond: Double, engine: EngineRun? = nil
  ) {
    self.requests = requests
    self.processorSeconds = processorSeconds
    self.perSecond = perSecond
    self.engine = engine
  }
}

/// All that `fieldcast bench engine` measured, and what follows from it.
package struct EngineBenchReport: Sendable {
  /// One contender's runs of one workload, a round each.
  package struct Row: Sendable {
    package let workload: Workload
    package let contender: Contender
    /// A run with as few requests as possible: what the process costs beside its requests.
    package var startUp = BenchRun(requests: 0, processorSeconds: 0, perSecond: 0)
    package var runs: [BenchRun] = []

    package init(_ workload: Workload, _ contender: Contender) {
      self.workload = workload
      self.contender = contender
    }

    /// Processor time of each request beyond the shortest run's, in each round, in microseconds.
    /// Nothing when the runs are no longer than that one.
    package var cpuMicroseconds: [Double] {
      runs.filter { $0.requests > startUp.requests }.map { run in
        max(run.processorSeconds - startUp.processorSeconds, 0) * 1e6
          / Double(run.requests - startUp.requests)
      }
    }

    package var perSecond: [Double] { runs.map(\.perSecond) }

    /// Of a row of the engine.
    package var acceptedPerSecond: [Double] {
      runs.compactMap { $0.engine.map { Double($0.accepted) / $0.seconds } }
    }
  }

  package let machine: String
  package let rounds: Int
  package let loadBefore: Double
  package var loadAfter = 0.0
  package var rows: [Row] = []

  init(machine: String, settings: EngineBench.Settings) {
    self.machine = machine
    rounds = settings.rounds
    loadBefore = Machine.load
  }

  /// For tests of what is computed.
  package init(rounds: Int, rows: [Row]) {
    machine = ""
    loadBefore = 0
    self.rounds = rounds
    self.rows = rows
  }

  package func row(_ contender: Contender, _ workload: Workload) -> Row? {
    rows.first { $0.contender == contender && $0.workload == workload }
  }

  /// What a row's measure is to h2load's in the same round; rounds without one are left out.
  package func ratios(
    _ row: Row, to other: Contender = .h2load, _ measure: (Row) -> [Double]
  ) -> [Double] {
    guard row.contender != other, let reference = self.row(other, row.workload) else { return [] }
    return zip(measure(row), measure(reference)).map { $0 / $1 }.filter(\.isFinite)
  }

  /// How many good tokens a second were accepted with as many bad ones beside them, to how many
  /// were without, by round. Good ones are asked for at the same pace in both, so 1 says that the
  /// bad ones, whose refusals come between, kept none of them back.
  package var goodRateRatios: [Double] {
    guard let mixed = rows.first(where: { $0.workload.halfBad }) else { return [] }
    let half = mixed.workload.requests / 2
    let pure = rows.last {
      $0.contender == mixed.contender && $0.workload.requests == half && !$0.workload.halfBad
    }
    guard let pure else { return [] }
    return zip(mixed.acceptedPerSecond, pure.acceptedPerSecond).map { $0 / $1 }
  }

  /// The most memory that any of the engine's processes held.
  package var peakBytes: Int { rows.flatMap(\.runs).compactMap(\.engine?.peakBytes).max() ?? 0 }

  /// How much the heap grew from the first fifth of the requests to the last: the median of the
  /// longest runs.
  package var heapGrowthBytes: Double {
    let engines = rows.flatMap(\.runs).filter { $0.engine != nil }
    let longest = engines.map(\.requests).max() ?? 0
    return Self.median(
      engines.filter { $0.requests == longest }.compactMap(\.engine).map {
        Double($0.heapGrowthBytes)
      })
  }

  /// The middle value, or the mean of the two middle ones; 0 for none.
  package static func median(_ values: [Double]) -> Double {
    guard !values.isEmpty else { return 0 }
    let sorted = values.sorted()
    let middle = sorted.count / 2
    return sorted.count % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2
  }
}

extension EngineBenchReport {
  /// The headline figures, then every row with the runs that it was made of.
  package var json: JSONValue {
    func headline(_ contender: Contender, _ measure: (Row) -> [Double]) -> JSONValue {
      let row = rows.first {
        $0.contender == contender && $0.workload.demand == .inFlight(100) && !$0.workload.halfBad
      }
      guard let row else { return nil }
      let ratios = ratios(row, measure)
      return ratios.isEmpty ? nil : Self.rounded(Self.median(ratios))
    }
    return [
      "cpu_ratio": headline(.async, \.cpuMicroseconds),
      "batch_cpu_ratio": headline(.batch, \.cpuMicroseconds),
      "rps_ratio": headline(.async, \.perSecond),
      "batch_rps_ratio": headline(.batch, \.perSecond),
      "elsewhere_cpu_ratio": headline(.elsewhere, \.cpuMicroseconds),
      "good_rate_ratio": goodRateRatios.isEmpty ? nil : Self.rounded(Self.median(goodRateRatios)),
      "peak_bytes": .number(JSONNumber(peakBytes)),
      "heap_growth_bytes": .number(JSONNumber(Int(heapGrowthBytes))),
      "machine": .string(machine), "rounds": .number(JSONNumber(rounds)),
      "load_before": Self.rounded(loadBefore), "load_after": Self.rounded(loadAfter),
      "rows": .array(rows.map { json(of: $0) }),
    ]
  }

  private func json(of row: Row) -> JSONValue {
    func list(_ values: [Double]) -> JSONValue { .array(values.map { Self.rounded($0) }) }
    return [
      "workload": .string(row.workload.title), "contender": .string(row.contender.rawValue),
      "requests": .number(JSONNumber(row.workload.requests)),
      "cpu_us": list(row.cpuMicroseconds), "per_second": list(row.perSecond),
      "cpu_ratios": list(ratios(row, \.cpuMicroseconds)),
      "rps_ratios": list(ratios(row, \.perSecond)),
      "start_up_cpu_ms": Self.rounded(row.startUp.processorSeconds * 1e3),
    ]
  }

  private static func rounded(_ number: Double) -> JSONValue {
    guard number.isFinite else { return nil }
    return .number(JSONNumber((number * 1e3).rounded() / 1e3))
  }
}
