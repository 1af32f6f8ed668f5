package import Clocks

/// A load's result: what was asked, how fresh the phones were, what it cost, and whether everything
/// arrived. Text, JSON and HTML are all made of this value.
package struct LoadReport: Sendable {
  /// What the load consisted of, in words and numbers.
  package struct Conditions: Sendable {
    package var startedAt = UnixTime(nanoseconds: 0)
    package var trips = 0
    package var phonesPerTrip = 0
    package var capturesPerSecond = 0.0
    package var seconds = 0.0
    package var rampSeconds = 0.0
    /// `poisson`, `bursty`, or a trace's name.
    package var shape = ""
    package var doors: [String] = []
    package var churnPerSecond = 0.0
    package var seed: UInt64 = 0
    /// Of the machine that the harness ran on.
    package var cores = 0
    /// The command line, or whatever says how to repeat it.
    package var command = ""

    package init() {}
  }

  /// One kind of latency.
  package struct Latency: Sendable {
    package var name: String
    /// From which stamp to which, and who made them.
    package var stamps: String
    package var histogram: LatencyHistogram

    package init(name: String, stamps: String, histogram: LatencyHistogram) {
      self.name = name
      self.stamps = stamps
      self.histogram = histogram
    }
  }

  package struct Process: Sendable {
    package var name: String
    /// While captures came.
    package var cpuSeconds = 0.0
    /// From the first capture until APNs had accepted everything, the backlog after the last
    /// capture included.
    package var cpuSecondsUntilSettled = 0.0
    /// Share of one core before captures came.
    package var idleShare = 0.0
    package var residentAtStart = 0
    package var residentAtEnd = 0
    package var residentPeak = 0

    package init(name: String) { self.name = name }
  }

  /// How the service's memory grew while trips and members were made.
  package struct Memory: Sendable {
    package var residentWithOneTrip = 0
    package var residentWithTrips = 0
    package var residentWithMembers = 0
    package var residentAfterLoad = 0
    /// Beyond the first trip.
    package var trips = 0
    package var members = 0

    package init() {}

    package var bytesPerTrip: Double? {
      trips > 0 ? Double(residentWithTrips - residentWithOneTrip) / Double(trips) : nil
    }
    package var bytesPerMember: Double? {
      members > 0 ? Double(residentWithMembers - residentWithTrips) / Double(members) : nil
    }
    /// After the load, everything that it left included.
    package var bytesPerTripAfterLoad: Double? {
      trips > 0 ? Double(residentAfterLoad - residentWithOneTrip) / Double(trips) : nil
    }
  }

  /// One span of the plots.
  package struct Point: Sendable {
    /// Its end, since the beginning of the load.
    package var seconds = 0.0
    package var captures = 0.0
    package var broadcasts10 = 0.0
    package var broadcasts5 = 0.0
    package var throttled = 0.0
    package var phonesReached = 0.0
    package var toAPNs: (p50: Int, p99: Int)?
    package var toPhones: (p50: Int, p99: Int)?
    /// Schedule to commit.
    package var lag: (p50: Int, p99: Int)?
    package var notesBehind = 0.0
    /// Shares of a core, by process.
    package var cpu: [String: Double] = [:]
    package var residentBytes: [String: Int] = [:]

    package init() {}
  }

  package var conditions = Conditions()
  package var createSeconds = 0.0
  package var joinSeconds = 0.0
  package var joins = 0
  package var leaves = 0
  package var churnFailures = 0
  package var doors: [(name: String, handedOver: Int, failed: Int)] = []
  package var problems: [String] = []
  package var repeated = 0
  /// How late the harness itself was.
  package var lateness = LatencyHistogram()
  /// First those of all captures, then the parts of the way.
  package var latencies: [Latency] = []
  package var stages: [Latency] = []
  /// Captures that were seen in the followed logs, of which the parts are.
  package var stagesCaptures = 0
  /// Those of them with all their stamps: each part is of these.
  package var stagesComplete = 0
  /// Trips among them whose entries were not all seen.
  package var stagesLost = 0
  package var captures = 0
  package var capturesShown = 0
  package var notesBehind = 0.0
  package var shareWrong = 0.0
  package var broadcasts: [Int: Int] = [:]
  package var broadcastsWithNews = 0
  package var capturesByPriority: [Int: Int] = [:]
  package var throttled = 0
  package var refusals: [String: Int] = [:]
  package var missedBroadcasts = 0
  package var phonesReached = 0
  package var deliveriesLost = 0
  package var measuredSeconds = 0.0
  package var settleSeconds = 0.0
  /// From the first capture until APNs had accepted everything.
  package var secondsUntilSettled = 0.0
  package var processes: [Process] = []
  package var memory: Memory?
  package var clockOffsets: [(name: String, seconds: Double)] = []
  /// Schedule to commit in the first and in the last quarter of the load.
  package var firstQuarterLag = LatencyHistogram()
  package var lastQuarterLag = LatencyHistogram()
  package var points: [Point] = []
  package var convergence = Convergence()

  package init() {}

  package var members: Int { conditions.trips * conditions.phonesPerTrip }

  /// While it was set up, by REST one by one.
  package var joinsPerSecond: Int? {
    joinSeconds > 0 && members > 0 ? Int(Double(members) / joinSeconds) : nil
  }

  package var broadcastCount: Int { broadcasts.values.reduce(0, +) }
  package var handedOver: Int { doors.reduce(0) { $0 + $1.handedOver } }
  /// Captures that no card showed, by the end of the watch.
  package var neverShown: Int { captures - capturesShown }
  package var failed: Int { doors.reduce(0) { $0 + $1.failed } }

  /// Captures that each broadcast carried, of those that carried any.
  package var conflation: Double? {
    broadcastsWithNews > 0 ? Double(capturesShown) / Double(broadcastsWithNews) : nil
  }

  package func process(_ name: String) -> Process? { processes.first { $0.name == name } }

  /// What one capture costs the service, in microseconds of CPU: all that it used until everything
  /// was accepted, and that without what it uses when nothing happens.
  package var cpuPerCapture: (gross: Double, net: Double)? {
    guard let service = process("service"), handedOver > 0, secondsUntilSettled > 0 else {
      return nil
    }
    let gross = service.cpuSecondsUntilSettled / Double(handedOver) * 1e6
    let idle = service.idleShare * secondsUntilSettled / Double(handedOver) * 1e6
    return (gross, max(0, gross - idle))
  }

  /// Whether the lag grew from the first quarter of the load to the last: more than doubled, and by
  /// more than 20 ms, in the middle.
  package var isLagGrowing: Bool? {
    guard !firstQuarterLag.isEmpty, !lastQuarterLag.isEmpty else { return nil }
    let (first, last) = (firstQuarterLag.quantile(0.5), lastQuarterLag.quantile(0.5))
    return last > 2 * first && last - first > 20_000
  }

  /// The harness was too slow itself for its figures to be the service's.
  package var isHarnessLate: Bool { lateness.quantile(0.99) > 20_000 }

  package var isGood: Bool {
    convergence.hasConverged && failed == 0 && missedBroadcasts == 0 && captures == capturesShown
  }
}
