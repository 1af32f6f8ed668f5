import APNs
import Clocks
import Foundation

/// How long and how hard a soak is. By default it is short; the environment makes it long.
struct SoakSettings: Sendable {
  /// Draws the work and the faults.
  var seed: UInt64
  /// Pushes and broadcasts in all; batches count each of theirs.
  var requests: Int
  /// As `fieldcast simulate --faults` takes them.
  var faults: String
  /// How many callers there are at once.
  var callers = 40
  /// How much faster than the machine's the clock of tokens runs: an hour is 12 s.
  var speed = 300.0
  /// Whether some tokens are dead, and some calls are cancelled.
  var isRough = true
  /// By how much deadlines are longer than usual: between 0.1 and 4 s.
  var leniency = 1.0
  /// How late a result may come behind its deadline, on a machine that has other things to do.
  var patience: Duration = .seconds(10)

  /// Everything that can happen, together.
  static let storm =
    "latency=0ms..40ms,429=2%x20,500=0.5%,503=1%x5,expired=0.02%,refuse=1%,drop=0.02%,reset=0.5%,"
    + "silence=0.1%,half=0.1%,garble=0.5%,goaway=0.1%x30,goaway-gently=0.1%,stall=0.04%x2s,"
    + "windows=10%,skew=90s,token-expiry=25m"

  /// One soak for each seed, as the environment says:
  ///
  /// - `FIELDCAST_SOAK_SEEDS`: such as `1,2,3`.
  /// - `FIELDCAST_SOAK_REQUESTS`: of each.
  /// - `FIELDCAST_SOAK_FAULTS`: instead of the storm.
  /// - `FIELDCAST_SOAK_LENIENCY`: by how much deadlines are longer than usual.
  ///
  /// `FIELDCAST_SOAK_REQUESTS=70000 FIELDCAST_SOAK_SEEDS=1,2,3 swift test --filter 'A soak'`
  static let all: [SoakSettings] = {
    let environment = ProcessInfo.processInfo.environment
    let seeds = (environment["FIELDCAST_SOAK_SEEDS"] ?? "1").split(separator: ",")
    let requests = environment["FIELDCAST_SOAK_REQUESTS"].flatMap { Int($0) } ?? 4_000
    return seeds.compactMap { UInt64($0) }.map {
      SoakSettings(
        seed: $0, requests: requests, faults: environment["FIELDCAST_SOAK_FAULTS"] ?? storm,
        leniency: environmentsLeniency)
    }
  }()

  /// What `FIELDCAST_SOAK_LENIENCY` says; more than 1 for a build or a machine that is slow.
  static let environmentsLeniency =
    ProcessInfo.processInfo.environment["FIELDCAST_SOAK_LENIENCY"].flatMap { Double($0) } ?? 1

  /// As in production, where it does not get rough: a loaded machine is slow to answer a PING.
  var engine: APNsClientConfiguration {
    if isRough { return Self.impatientEngine }
    var configuration = APNsClientConfiguration()
    for path in [\APNsClientConfiguration.pushes, \.broadcasts, \.management] {
      let usual = configuration[keyPath: path].http.pingTimeout
      configuration[keyPath: path].http.pingTimeout = usual * Self.environmentsLeniency
    }
    return configuration
  }

  /// An engine that notices trouble within a second or two.
  static var impatientEngine: APNsClientConfiguration {
    var configuration = APNsClientConfiguration()
    for path in [
      \APNsClientConfiguration.pushes, \APNsClientConfiguration.broadcasts,
      \APNsClientConfiguration.management,
    ] {
      configuration[keyPath: path].grace = .seconds(2)
      configuration[keyPath: path].http.pingAfterSilence = .milliseconds(500)
      configuration[keyPath: path].http.pingTimeout = .seconds(1)
      configuration[keyPath: path].http.connect.deadline = .seconds(3)
    }
    return configuration
  }
}
