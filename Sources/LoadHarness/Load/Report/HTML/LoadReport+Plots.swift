extension LoadReport {
  /// The pictures of the report, in their order.
  var plots: [Plot] {
    var plots = [distributionPlot, latencyPlot, throughputPlot, broadcastPlot, stalenessPlot]
    if points.contains(where: { $0.lag != nil }) { plots.append(lagPlot) }
    if points.contains(where: { !$0.cpu.isEmpty }) { plots.append(cpuPlot) }
    if points.contains(where: { !$0.residentBytes.isEmpty }) { plots.append(memoryPlot) }
    return plots
  }

  private var timeScale: PlotScale { .span(points.last?.seconds ?? conditions.seconds) }

  private func timePlot(
    _ title: String, _ note: String, y: PlotScale,
    yLabel: @escaping @Sendable (Double) -> String, keys: [Plot.Key], layers: [Plot.Layer]
  ) -> Plot {
    Plot(
      title: title, note: note, x: timeScale, y: y,
      xLabel: { Self.secondsLabel($0) }, yLabel: yLabel, keys: keys, layers: layers)
  }

  private func line(
    _ value: (Point) -> Double?, _ colour: Plot.Colour, faint: Bool = false
  ) -> Plot.Layer {
    .line(points.map { ($0.seconds, value($0)) }, colour, isFaint: faint)
  }

  // MARK: Latency

  private var distributionPlot: Plot {
    let shown: [(name: String, histogram: LatencyHistogram, colour: Plot.Colour)] = [
      ("commit", stage("ingest").isEmpty ? LatencyHistogram() : stage("commit"), .third),
      ("capture to APNs", latency("capture to APNs"), .first),
      ("capture to phone", latency("capture to phone"), .second),
    ].filter { $0.1.count > 0 }
    let least =
      shown.map { Double(max(1, min($0.histogram.quantile(0.01), $0.histogram.maxMicroseconds))) }
      .min() ?? 1
    let most = shown.map { Double(max(1, $0.histogram.maxMicroseconds)) }.max() ?? 10
    let layers = shown.map { entry -> Plot.Layer in
      .line(
        [(least, 0)]
          + entry.histogram.distribution.map { (Double(max(1, $0.microseconds)), $0.share) },
        entry.colour, isFaint: false)
    }
    let keys = shown.map { entry in
      Plot.Key(
        text: "\(entry.name), p99 \(Self.time(entry.histogram.quantile(0.99)))",
        colour: entry.colour)
    }
    return Plot(
      title: "How long captures took", note: "share of captures that took at most so long",
      x: .logarithmic(from: least, to: most), y: .linear(upTo: 1),
      xLabel: { Self.roundTime(Int($0)) }, yLabel: { Text.fixed($0 * 100, decimals: 0) + " %" },
      keys: keys, layers: layers)
  }

  private var latencyPlot: Plot {
    let values = points.flatMap { [$0.toAPNs, $0.toPhones] }.compactMap { $0 }
    return timePlot(
      "Latency over time", "by the moment of the capture",
      y: Self.timeScale(values), yLabel: { Self.roundTime(Int($0)) },
      keys: [
        .init(text: "to APNs p99", colour: .first),
        .init(text: "p50", colour: .first, isFaint: true),
        .init(text: "to phone p99", colour: .second),
        .init(text: "p50", colour: .second, isFaint: true),
      ],
      layers: [
        line({ Self.known($0.toAPNs?.p50) }, .first, faint: true),
        line({ Self.known($0.toPhones?.p50) }, .second, faint: true),
        line({ Self.known($0.toAPNs?.p99) }, .first),
        line({ Self.known($0.toPhones?.p99) }, .second),
      ])
  }

  private var lagPlot: Plot {
    timePlot(
      "Lag of the service", "from the capture to its commit; grows when the service falls behind",
      y: Self.timeScale(points.compactMap(\.lag)), yLabel: { Self.roundTime(Int($0)) },
      keys: [
        .init(text: "p99", colour: .third), .init(text: "p50", colour: .third, isFaint: true),
      ],
      layers: [
        line({ Self.known($0.lag?.p50) }, .third, faint: true),
        line({ Self.known($0.lag?.p99) }, .third),
      ])
  }

  private static func timeScale(_ values: [(p50: Int, p99: Int)]) -> PlotScale {
    // What never came leaves a gap in its line.
    let known = values.flatMap { [$0.p50, $0.p99] }.filter { $0 != LatencyHistogram.never }
    let least = Double(max(1, known.min() ?? 1_000))
    let most = Double(max(1, known.max() ?? 10_000))
    return .logarithmic(from: least, to: most, mostDecades: 6)
  }

  private static func known(_ microseconds: Int?) -> Double? {
    microseconds.flatMap { $0 == LatencyHistogram.never ? nil : Double($0) }
  }

  // MARK: Flow

  private var throughputPlot: Plot {
    let reached = points.map(\.phonesReached).max() ?? 0
    let captures = points.map(\.captures).max() ?? 0
    // Both on one axis tells little when a thousand phones hear of each capture.
    let isWide = reached > 30 * max(captures, 1)
    let most = max(reached, captures)
    let least = points.flatMap { [$0.captures, $0.phonesReached] }.filter { $0 > 0 }.min() ?? 1
    return timePlot(
      "Throughput", "a second",
      y: isWide ? .logarithmic(from: least, to: most, mostDecades: 6) : .linear(upTo: most),
      yLabel: { Self.countLabel($0) },
      keys: [
        .init(text: "captures", colour: .first), .init(text: "phones reached", colour: .second),
      ],
      layers: [
        line({ $0.phonesReached }, .second), line({ $0.captures }, .first),
      ])
  }

  private var broadcastPlot: Plot {
    let most = points.map { $0.broadcasts10 + $0.broadcasts5 + $0.throttled }.max() ?? 0
    var keys: [Plot.Key] = [
      .init(text: "priority 10: shown at once", colour: .first),
      .init(text: "priority 5: may come late", colour: .third),
    ]
    var layers: [Plot.Layer] = [
      .area(points.map { ($0.seconds, 0, $0.broadcasts10) }, .first),
      .area(
        points.map { ($0.seconds, $0.broadcasts10, $0.broadcasts10 + $0.broadcasts5) }, .third),
    ]
    if throttled > 0 {
      keys.append(.init(text: "429", colour: .bad))
      layers.append(
        .area(
          points.map { point in
            let accepted = point.broadcasts10 + point.broadcasts5
            return (point.seconds, accepted, accepted + point.throttled)
          }, .bad))
    }
    return timePlot(
      "Broadcasts", "a second, one above the other", y: .linear(upTo: most),
      yLabel: { Self.countLabel($0) }, keys: keys, layers: layers)
  }

  private var stalenessPlot: Plot {
    timePlot(
      "Staleness", "notes that a trip's cards are behind, averaged over trips",
      y: .linear(upTo: points.map(\.notesBehind).max() ?? 0), yLabel: { Self.countLabel($0) },
      keys: [.init(text: "notes behind", colour: .second)],
      layers: [
        .area(points.map { ($0.seconds, 0, max(0, $0.notesBehind)) }, .second),
        line({ max(0, $0.notesBehind) }, .second),
      ])
  }

  // MARK: Costs

  private static let colours: [(process: String, colour: Plot.Colour)] = [
    ("service", .first), ("redis", .second), ("simulator", .third), ("harness", .fourth),
  ]

  private var cpuPlot: Plot {
    let watched = Self.colours.filter { entry in
      points.contains { $0.cpu[entry.process] != nil }
    }
    return timePlot(
      "CPU", "of one core; the machine has \(conditions.cores)",
      y: .linear(upTo: points.flatMap { $0.cpu.values }.max() ?? 0),
      yLabel: { Text.fixed($0 * 100, decimals: 0) + " %" },
      keys: watched.map { .init(text: $0.process, colour: $0.colour) },
      layers: watched.map { entry in line({ $0.cpu[entry.process] }, entry.colour) })
  }

  private var memoryPlot: Plot {
    let watched = Self.colours.filter { entry in
      points.contains { $0.residentBytes[entry.process] != nil }
    }
    let most = points.flatMap { $0.residentBytes.values }.max() ?? 0
    return timePlot(
      "Memory", "resident, in MB", y: .linear(upTo: Double(most) / 1_048_576),
      yLabel: { Self.countLabel($0) },
      keys: watched.map { .init(text: $0.process, colour: $0.colour) },
      layers: watched.map { entry in
        line({ $0.residentBytes[entry.process].map { Double($0) / 1_048_576 } }, entry.colour)
      })
  }

  // MARK: Parts

  func latency(_ name: String) -> LatencyHistogram {
    latencies.first { $0.name == name }?.histogram ?? LatencyHistogram()
  }

  func stage(_ name: String) -> LatencyHistogram {
    stages.first { $0.name == name }?.histogram ?? LatencyHistogram()
  }

  private static func secondsLabel(_ seconds: Double) -> String {
    seconds < 120 ? "\(number(seconds)) s" : Text.clock(seconds: seconds)
  }

  private static func countLabel(_ value: Double) -> String {
    switch abs(value) {
    case 1_000_000...: number(value / 1_000_000) + " M"
    case 10_000...: number(value / 1_000) + " k"
    default: number(value)
    }
  }
}
