internal import JSON

/// How the demo went, in figures.
package struct DemoSummary: Sendable, Equatable {
  package var traceName: String
  package var traceKind: String
  package var speed: Double
  /// Of the trip, in trace time, from its creation to its end.
  package var durationSeconds: Double
  package var captures: Int
  package var doors: DemoSnapshot.Doors
  /// Accepted by APNs, the end among them.
  package var broadcasts: DemoSnapshot.Broadcasts
  package var phones: Int
  /// Phones that ended on the state that the trace gives.
  package var convergedPhones: Int
  package var meanStalenessNotes: Double
  package var maxWaitSeconds: Double
  /// Channels at APNs after the end; 0 unless one leaked.
  package var channelsLeft: Int

  package init(
    _ snapshot: DemoSnapshot, convergedPhones: Int, channelsLeft: Int
  ) {
    traceName = snapshot.traceName
    traceKind = snapshot.traceKind
    speed = snapshot.speed
    durationSeconds = snapshot.elapsedSeconds
    captures = snapshot.captures
    doors = snapshot.doors
    broadcasts = snapshot.broadcasts
    phones = snapshot.phones
    meanStalenessNotes = snapshot.meanStalenessNotes
    maxWaitSeconds = snapshot.maxWaitSeconds
    self.convergedPhones = convergedPhones
    self.channelsLeft = channelsLeft
  }

  package var conflation: Double {
    broadcasts.all > 0 ? Double(captures) / Double(broadcasts.all) : 0
  }

  /// Whether everything was as it must be: every phone right, and no channel left behind.
  package var isGood: Bool { convergedPhones == phones && channelsLeft == 0 }

  /// For a person; ends in a line end.
  package func text(coloured: Bool) -> String {
    let ink = Ink(coloured: coloured)
    let rows = [
      ("trace", "\(Text.harmless(traceName)), \(traceKind)"),
      (
        "duration",
        "\(Text.span(seconds: durationSeconds)), at \(Text.fixed(speed, decimals: 0))× speed"
      ),
      (
        "captures",
        "\(Text.grouped(captures)) (REST \(doors.rest), pub/sub \(doors.publish), "
          + "stream \(doors.stream))"
      ),
      (
        "broadcasts",
        "\(Text.grouped(broadcasts.all)) (priority 10: \(broadcasts.priority10), "
          + "priority 5: \(broadcasts.priority5)), throttled \(broadcasts.throttled)"
      ),
      ("conflation", "\(Text.fixed(conflation, decimals: 2)) captures in each broadcast"),
      (
        "staleness",
        "\(Text.fixed(meanStalenessNotes, decimals: 2)) notes on average, longest wait "
          + Text.span(seconds: maxWaitSeconds)
      ),
      ("phones", "\(convergedPhones) of \(phones) ended on the trace's last state"),
      ("channels", channelsLeft == 0 ? "none left at APNs" : "\(channelsLeft) left at APNs"),
    ]
    let verdict =
      isGood
      ? ink(.green, "Every phone ended on the right state.")
      : ink(.red, "Not as it must be: \(fault).")
    let lines = rows.map { ink(.faint, Text.fitted("  " + $0.0, columns: 14)) + $0.1 }
    return lines.joined(separator: "\n") + "\n\n" + verdict + "\n"
  }

  /// One JSON object, without a line end.
  package func json() -> String {
    let object: JSONValue = [
      "trace": .string(traceName),
      "trace_kind": .string(traceKind),
      "speed": decimal(speed),
      "duration_seconds": decimal(durationSeconds),
      "captures": whole(captures),
      "doors": [
        "rest": whole(doors.rest), "publish": whole(doors.publish),
        "stream": whole(doors.stream),
      ],
      "broadcasts": whole(broadcasts.all),
      "priority10": whole(broadcasts.priority10),
      "priority5": whole(broadcasts.priority5),
      "throttled": whole(broadcasts.throttled),
      "conflation": decimal(conflation),
      "phones": whole(phones),
      "converged": whole(convergedPhones),
      "mean_staleness_notes": decimal(meanStalenessNotes),
      "max_wait_seconds": decimal(maxWaitSeconds),
      "channels_left": whole(channelsLeft),
    ]
    return String(decoding: object.serialized(), as: UTF8.self)
  }

  private var fault: String {
    var faults: [String] = []
    let wrong = phones - convergedPhones
    if wrong > 0 {
      faults.append("\(Text.count(wrong, "phone")) ended on another state than the trace gives")
    }
    if channelsLeft > 0 { faults.append("\(Text.count(channelsLeft, "channel")) left at APNs") }
    return faults.joined(separator: ", ")
  }

  private func whole(_ number: Int) -> JSONValue { .number(JSONNumber(number)) }

  private func decimal(_ number: Double) -> JSONValue {
    .number(JSONNumber(Text.fixed(number, decimals: 3)) ?? JSONNumber(0))
  }
}
