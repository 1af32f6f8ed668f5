import APNs
import APNsSimulator
import Testing

/// The engine and a server in trouble, for as long as one likes: see ``SoakSettings/all``.
@Suite(.timeLimit(.minutes(60))) struct `A soak` {
  @Test(arguments: SoakSettings.all)
  func `loses nothing, repeats nothing unasked and hangs nowhere`(
    _ settings: SoakSettings
  ) async throws {
    let world = try await SoakWorld(settings)
    try await world.work()
    let accepted = try await world.settle()
    world.judge(accepted)
    let faults = await world.simulator.faultCounts
    print(report(settings, world.shared.ledger, accepted, faults))
    // Where nothing went wrong, or everything did, nothing was tried.
    #expect(faults.values.contains { $0 > 0 })
    #expect(accepted.messages > 0)
    await world.stop()
  }

  /// A token is replaced every 20 minutes at most, and 22 are a moment of this clock.
  private static let expired = [
    "refused: 403 ExpiredProviderToken", "not sent: APNs calls a new provider token expired",
  ]
  /// A connection that leaves several deadlines in a row unanswered is replaced.
  private static let silent = [
    "unknown: deadline", "not sent: deadline", "unknown: connectionLost",
  ]

  /// What each fault costs by itself, when there is time: besides `accepted`, only these.
  @Test(arguments: [
    ("latency=0ms..40ms", []), ("refuse=5%", []), ("goaway=2%x20,latency=0ms..20ms", []),
    ("goaway-gently=3%", []), ("goaway-every=40", []), ("skew=90s", []), ("skew=-90s", []),
    ("stall=0.5%x500ms", []), ("token-expiry=22m", expired),
    ("429=5%x5", ["refused: 429 TooManyRequests"]),
    ("500=5%x5", ["refused: 500 InternalServerError"]),
    ("503=5%x5", ["refused: 503 ServiceUnavailable"]),
    ("reset=3%", ["unknown: reset"]), ("drop=0.5%", ["unknown: connectionLost"]),
    ("garble=5%", []), ("silence=1%", silent), ("half=1%", silent),
  ])
  func `tells for each fault what it costs`(_ faults: String, _ cost: [String]) async throws {
    let isSilent = cost.contains("unknown: deadline")
    var settings = SoakSettings(seed: 1, requests: 600, faults: faults, callers: 20)
    settings.isRough = false
    settings.leniency = isSilent ? 2 : 100
    // Where nothing but its own fault may happen, no provider token may expire meanwhile, however slow
    // the machine: at this pace its last ten minutes are twenty seconds.
    settings.speed = faults.hasPrefix("token") ? 600 : 30
    let world = try await SoakWorld(settings)
    try await world.work()
    world.judge(try await world.settle())
    let counts = world.shared.ledger.counts
    #expect(Set(counts.map(\.name)).subtracting(["accepted"]).subtracting(cost) == [], "\(faults)")
    #expect(counts.first?.name == "accepted")
    await world.stop()
  }

  private func report(
    _ settings: SoakSettings, _ ledger: SoakLedger, _ accepted: SoakWorld.Accepted,
    _ faults: [String: Int]
  ) -> String {
    let faults = faults.sorted { ($1.value, $0.key) < ($0.value, $1.key) }
    let late = Double(max(ledger.latest, .zero).wholeNanoseconds) / 1e6
    var lines = [
      "soak of seed \(settings.seed): \(ledger.outcomes.count) requests, "
        + "\(accepted.messages) messages accepted, latest result \(Int(late)) ms late",
      "  faults: " + faults.map { "\($0.key) \($0.value)" }.joined(separator: ", "),
    ]
    for (name, count) in ledger.counts { lines.append("  \(count) \(name)") }
    return lines.joined(separator: "\n")
  }
}
