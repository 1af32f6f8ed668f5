internal import JSON

extension LoadReport {
  /// The report as one JSON object, for scripts. Times are in microseconds, sizes in bytes.
  package func json() -> String {
    var writer = JSONWriter(reservingCapacity: 1 << 16)
    writer.object { writer in
      writer.member("good", isGood)
      writeConditions(&writer)
      writeLatencies(&writer)
      writeCounts(&writer)
      writeCosts(&writer)
      writeConvergence(&writer)
      writer.key("spans")
      writer.array { list in for point in points { point.write(to: &list) } }
    }
    return String(decoding: writer.finish(), as: UTF8.self)
  }

  private func writeConditions(_ writer: inout JSONWriter) {
    writer.key("load")
    writer.object {
      $0.member("startedAt", conditions.startedAt.wholeSeconds)
      $0.member("command", conditions.command)
      $0.member("trips", conditions.trips)
      $0.member("phonesPerTrip", conditions.phonesPerTrip)
      $0.number("capturesPerSecond", conditions.capturesPerSecond)
      $0.number("seconds", conditions.seconds)
      $0.number("rampSeconds", conditions.rampSeconds)
      $0.member("shape", conditions.shape)
      $0.key("doors")
      $0.array { list in for door in conditions.doors { list.string(door) } }
      $0.number("churnPerSecond", conditions.churnPerSecond)
      $0.member("seed", conditions.seed)
      $0.member("cores", conditions.cores)
      $0.member("openLoop", true)
      $0.number("createSeconds", createSeconds)
      $0.number("joinSeconds", joinSeconds)
      $0.member("joins", joins)
      $0.member("leaves", leaves)
      $0.member("churnFailures", churnFailures)
    }
  }

  private func writeLatencies(_ writer: inout JSONWriter) {
    writer.key("latencies")
    writer.object { writer in
      for latency in latencies { latency.write(to: &writer) }
    }
    writer.key("stages")
    writer.object { writer in
      for stage in stages { stage.write(to: &writer) }
    }
    writer.key("harnessLateness")
    writer.histogram(lateness)
    writer.key("lagToCommit")
    writer.object {
      $0.key("firstQuarter")
      $0.histogram(firstQuarterLag)
      $0.key("lastQuarter")
      $0.histogram(lastQuarterLag)
      if let isLagGrowing { $0.member("growing", isLagGrowing) }
    }
  }

  private func writeCounts(_ writer: inout JSONWriter) {
    writer.member("captures", captures)
    writer.member("capturesShown", capturesShown)
    writer.key("doors")
    writer.object { writer in
      for door in doors {
        writer.key(door.name)
        writer.object {
          $0.member("handedOver", door.handedOver)
          $0.member("failed", door.failed)
        }
      }
    }
    writer.number("notesBehind", notesBehind)
    writer.number("shareWrong", shareWrong)
    writer.counts("broadcastsByPriority", broadcasts)
    writer.counts("capturesByPriority", capturesByPriority)
    if let conflation { writer.number("capturesPerBroadcast", conflation) }
    writer.member("throttled", throttled)
    writer.key("refusals")
    writer.object { writer in
      for (reason, count) in refusals.sorted(by: { $0.key < $1.key }) {
        writer.member(reason, count)
      }
    }
    writer.member("broadcastsUnseen", missedBroadcasts)
    writer.member("phonesReached", phonesReached)
    writer.number(
      "phonesReachedPerSecond", measuredSeconds > 0 ? Double(phonesReached) / measuredSeconds : 0)
    writer.member("deliveriesLost", deliveriesLost)
    writer.number("measuredSeconds", measuredSeconds)
    writer.number("settleSeconds", settleSeconds)
    writer.member("stagesCaptures", stagesCaptures)
    writer.member("stagesComplete", stagesComplete)
  }

  private func writeCosts(_ writer: inout JSONWriter) {
    writer.key("processes")
    writer.object { writer in
      for process in processes {
        writer.key(process.name)
        writer.object {
          $0.number("cpuSeconds", process.cpuSeconds)
          $0.number("cpuSecondsUntilSettled", process.cpuSecondsUntilSettled)
          $0.number("idleShare", process.idleShare)
          $0.member("residentAtStart", process.residentAtStart)
          $0.member("residentAtEnd", process.residentAtEnd)
          $0.member("residentPeak", process.residentPeak)
        }
      }
    }
    if let cost = cpuPerCapture {
      writer.number("cpuMicrosecondsPerCapture", cost.gross)
      writer.number("cpuMicrosecondsPerCaptureBeyondIdle", cost.net)
    }
    guard let memory else { return }
    if let bytes = memory.bytesPerTrip { writer.number("bytesPerTrip", bytes) }
    if let bytes = memory.bytesPerTripAfterLoad { writer.number("bytesPerTripAfterLoad", bytes) }
    if let bytes = memory.bytesPerMember { writer.number("bytesPerMember", bytes) }
  }

  private func writeConvergence(_ writer: inout JSONWriter) {
    writer.key("convergence")
    writer.object { writer in
      writer.member("converged", convergence.hasConverged)
      writer.member("trips", convergence.trips)
      writer.member("phones", convergence.phones)
      writer.member("phonesRight", convergence.phonesRight)
      writer.key("outcomes")
      writer.object { writer in
        for (name, count) in convergence.outcomes.sorted(by: { $0.key < $1.key }) {
          writer.member(name, count)
        }
      }
      writer.key("wrong")
      writer.array { list in
        for wrong in convergence.wrong {
          list.object {
            $0.member("trip", wrong.trip)
            $0.member("expected", wrong.expected)
            $0.member("shown", wrong.shown)
            $0.member("phones", wrong.phones)
          }
        }
      }
    }
  }
}

extension LoadReport.Latency {
  fileprivate func write(to writer: inout JSONWriter) {
    writer.key(name)
    writer.histogram(histogram, stamps: stamps)
  }
}

extension LoadReport.Point {
  fileprivate func write(to writer: inout JSONWriter) {
    writer.object { writer in
      writer.number("until", seconds)
      writer.number("captures", captures)
      writer.number("broadcasts10", broadcasts10)
      writer.number("broadcasts5", broadcasts5)
      writer.number("throttled", throttled)
      writer.number("phonesReached", phonesReached)
      writer.number("notesBehind", notesBehind)
      for (name, pair) in [("toAPNs", toAPNs), ("toPhones", toPhones), ("lag", lag)] {
        guard let pair else { continue }
        writer.wait("\(name)P50", pair.p50)
        writer.wait("\(name)P99", pair.p99)
      }
      for (name, share) in cpu.sorted(by: { $0.key < $1.key }) {
        writer.number("\(name)CPU", share)
      }
      for (name, bytes) in residentBytes.sorted(by: { $0.key < $1.key }) {
        writer.member("\(name)Bytes", bytes)
      }
    }
  }
}

extension JSONWriter {
  fileprivate mutating func number(_ key: String, _ value: Double) {
    self.key(key)
    double((value * 1e6).rounded() / 1e6)
  }

  /// Null where the wait had no end.
  fileprivate mutating func wait(_ key: String, _ microseconds: Int) {
    if microseconds == LatencyHistogram.never {
      member(key, .null)
    } else {
      member(key, microseconds)
    }
  }

  fileprivate mutating func counts(_ key: String, _ counts: [Int: Int]) {
    self.key(key)
    object { writer in
      for (name, count) in counts.sorted(by: { $0.key > $1.key }) {
        writer.member("\(name)", count)
      }
    }
  }

  fileprivate mutating func histogram(_ histogram: LatencyHistogram, stamps: String? = nil) {
    object {
      $0.member("count", histogram.total)
      $0.member("endless", histogram.endless)
      $0.wait("p50", histogram.quantile(0.5))
      $0.wait("p95", histogram.quantile(0.95))
      $0.wait("p99", histogram.quantile(0.99))
      $0.wait("max", histogram.quantile(1))
      $0.member("mean", Int(histogram.meanMicroseconds.rounded()))
      if let stamps { $0.member("stamps", stamps) }
    }
  }
}
