internal import Glibc

extension LoadWatch {
  /// Puts together what was measured.
  func report(_ outcome: LoadRun.Outcome) -> LoadReport {
    var report = LoadReport()
    report.conditions = conditions(outcome)
    report.createSeconds = outcome.createSeconds
    report.joinSeconds = outcome.joinSeconds
    report.joins = outcome.churn.joins
    report.leaves = outcome.churn.leaves
    report.churnFailures = outcome.churn.failures
    report.doors = settings.doors.map { door in
      let tally = outcome.tally.doors[door] ?? DoorTally.Door()
      return (door.name, tally.handedOver, tally.failed)
    }
    report.problems = outcome.tally.problems
    report.repeated = outcome.tally.repeated
    report.lateness = outcome.tally.lateness
    addLatencies(to: &report)
    addCounts(to: &report)
    report.measuredSeconds = outcome.measuredSeconds
    report.secondsUntilSettled = outcome.secondsUntilSettled
    report.settleSeconds = outcome.settleSeconds
    addCosts(outcome, to: &report)
    report.clockOffsets = [
      ("simulator", offsets.simulator.inSeconds), ("redis", offsets.redis.inSeconds),
    ]
    report.points = points()
    addLag(to: &report)
    report.convergence = outcome.convergence
    return report
  }

  private func conditions(_ outcome: LoadRun.Outcome) -> LoadReport.Conditions {
    var conditions = LoadReport.Conditions()
    conditions.startedAt = outcome.startedAt
    conditions.trips = settings.trips
    conditions.phonesPerTrip = settings.phonesPerTrip
    conditions.capturesPerSecond = settings.capturesPerSecond
    conditions.seconds = settings.seconds
    conditions.rampSeconds = settings.rampSeconds
    conditions.shape =
      switch settings.shape {
      case .poisson: "poisson"
      case .even: "even"
      case .bursty: "bursty"
      case .trace(let trace): trace.name
      }
    conditions.doors = settings.doors.map(\.name)
    conditions.churnPerSecond = settings.churnPerSecond
    conditions.seed = settings.seed
    conditions.cores = Int(sysconf(Int32(_SC_NPROCESSORS_ONLN)))
    return conditions
  }

  private func addLatencies(to report: inout LoadReport) {
    report.latencies = [
      .init(
        name: "capture to APNs", stamps: "schedule; accepted by the simulator",
        histogram: ledger.toAPNs),
      .init(
        name: "capture to phone", stamps: "schedule; on each phone", histogram: ledger.toPhones),
      .init(
        name: "capture to last phone", stamps: "schedule; on the trip's last phone",
        histogram: ledger.toLastPhone),
    ]
    report.stages = [
      .init(
        name: "ingest", stamps: "schedule; entry ID in the log (Redis, ±0.5 ms)",
        histogram: sampler.ingest),
      .init(
        name: "commit", stamps: "entry ID; log's cursor seen behind it (looked at each 1 ms)",
        histogram: sampler.commit),
      .init(
        name: "publisher", stamps: "cursor; accepted by the simulator",
        histogram: sampler.publisher),
      .init(
        name: "APNs and network", stamps: "accepted; on each phone, of every broadcast (a model)",
        histogram: ledger.travel),
    ]
    report.stagesCaptures = sampler.captures
    report.stagesComplete = sampler.complete
    report.stagesLost = sampler.tripsLost
  }

  private func addCounts(to report: inout LoadReport) {
    report.captures = ledger.captures
    report.capturesShown = ledger.capturesShown
    report.broadcasts = ledger.broadcasts
    report.broadcastsWithNews = ledger.broadcastsWithNews.values.reduce(0, +)
    report.capturesByPriority = ledger.capturesByPriority
    report.refusals = refusalsOfLoad
    report.throttled = refusalsOfLoad["TooManyRequests"] ?? 0
    report.missedBroadcasts = missedBroadcasts
    report.phonesReached = ledger.phonesReached
    report.deliveriesLost = ledger.deliveriesLost
    let end = Int64(settings.seconds * 1e9)
    let spans = max(1, Int(end / settings.spanNanoseconds))
    report.notesBehind = ledger.meanNotesBehind(spans: spans).reduce(0, +) / Double(spans)
    report.shareWrong = ledger.shareWrong
  }

  private func addCosts(_ outcome: LoadRun.Outcome, to report: inout LoadReport) {
    for process in LoadTarget.Process.allCases {
      guard let before = outcome.usageBefore[process], let after = outcome.usageAfter[process]
      else { continue }
      var line = LoadReport.Process(name: process.rawValue)
      line.cpuSeconds = after.cpuSeconds - before.cpuSeconds
      let settled = outcome.usageSettled[process] ?? after
      line.cpuSecondsUntilSettled = settled.cpuSeconds - before.cpuSeconds
      line.idleShare = outcome.idleCPU[process] ?? 0
      line.residentAtStart = outcome.usageAtStart[process]?.residentBytes ?? 0
      line.residentAtEnd = after.residentBytes
      line.residentPeak = after.peakResidentBytes
      report.processes.append(line)
    }
    guard let start = outcome.usageAtStart[.service], let trips = outcome.usageWithTrips[.service],
      let members = outcome.usageWithMembers[.service], let after = outcome.usageAfter[.service]
    else { return }
    var memory = LoadReport.Memory()
    memory.residentWithOneTrip = start.residentBytes
    memory.residentWithTrips = trips.residentBytes
    memory.residentWithMembers = members.residentBytes
    memory.residentAfterLoad = after.residentBytes
    memory.trips = settings.trips - 1
    memory.members = (settings.trips - 1) * settings.phonesPerTrip
    report.memory = memory
  }

  private func addLag(to report: inout LoadReport) {
    // Without the ramp, and as far as captures were scheduled.
    let span = Double(settings.spanNanoseconds) / 1e9
    let begin = Int((settings.rampSeconds / span).rounded(.up))
    let end = min(sampler.lagBySpan.count, Int((settings.seconds / span).rounded(.up)))
    guard end - begin >= 4 else { return }
    let quarter = (end - begin) / 4
    for lag in sampler.lagBySpan[begin..<(begin + quarter)] { report.firstQuarterLag.add(lag) }
    for lag in sampler.lagBySpan[(end - quarter)..<end] { report.lastQuarterLag.add(lag) }
  }

  private func points() -> [LoadReport.Point] {
    let span = Double(settings.spanNanoseconds) / 1e9
    let behind = ledger.meanNotesBehind(spans: ledger.spans.count)
    return ledger.spans.indices.map { index in
      let found = ledger.spans[index]
      var point = LoadReport.Point()
      point.seconds = Double(index + 1) * span
      point.captures = Double(found.captures) / span
      point.broadcasts10 = Double(found.broadcasts10) / span
      point.broadcasts5 = Double(found.broadcasts5) / span
      if index < throttledBySpan.count { point.throttled = Double(throttledBySpan[index]) / span }
      point.phonesReached = Double(found.phonesReached) / span
      point.toAPNs = Self.percentiles(found.toAPNs)
      point.toPhones = Self.percentiles(found.toPhones)
      if index < sampler.lagBySpan.count {
        point.lag = Self.percentiles(sampler.lagBySpan[index])
      }
      point.notesBehind = behind[index]
      for (process, samples) in usage {
        guard let now = samples[index] else { continue }
        point.residentBytes[process.rawValue] = now.residentBytes
        guard let before = samples[index - 1] else { continue }
        point.cpu[process.rawValue] = (now.cpuSeconds - before.cpuSeconds) / span
      }
      return point
    }
  }

  private static func percentiles(_ histogram: LatencyHistogram) -> (p50: Int, p99: Int)? {
    histogram.isEmpty ? nil : (histogram.quantile(0.5), histogram.quantile(0.99))
  }
}

extension ServiceDoors.Door {
  /// As it is named on the command line and in reports.
  package var name: String {
    switch self {
    case .rest: "rest"
    case .publish: "pubsub"
    case .stream: "stream"
    }
  }
}
