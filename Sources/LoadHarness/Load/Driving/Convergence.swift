internal import Transport

/// Whether every phone shows what the harness counts.
package struct Convergence: Sendable {
  package struct Wrong: Sendable, Equatable {
    package var trip: String
    package var expected: String
    package var shown: String
    package var phones: Int
  }

  package var trips = 0
  package var phones = 0
  package var phonesRight = 0
  /// The first few.
  package var wrong: [Wrong] = []
  /// What became of the pushes at the phones of crowds, by name.
  package var outcomes: [String: Int] = [:]

  package init() {}

  package var hasConverged: Bool { phonesRight == phones && wrong.isEmpty }

  /// Asks the simulator what each phone of each trip shows.
  static func check(
    _ trips: [TripCrew.Trip], tally: DoorTally, settings: LoadSettings, watch: LoadWatch
  ) async throws -> Convergence {
    var result = Convergence()
    result.trips = trips.count
    for start in stride(from: 0, to: trips.count, by: 200) {
      let part = trips[start..<min(start + 200, trips.count)]
      let shown = try await watch.simulator.shown(on: part.map(\.channelID))
      for (offset, channel) in shown.enumerated() {
        let number = start + offset
        let captured = await watch.ledger.captured(number)
        result.take(
          channel, trip: trips[number].id, captured: captured,
          failed: tally.failedByTrip[number] ?? 0, phones: settings.phonesPerTrip)
      }
    }
    return result
  }

  /// - Parameters:
  ///   - phones: that must be there at least; guests may have stayed.
  ///   - failed: captures that no door took. Which of a trip's they were is not known here, so the
  ///     place is compared only where all were taken.
  private mutating func take(
    _ channel: SimulatorProbe.Shown, trip: String, captured: Int, failed: Int, phones count: Int
  ) {
    let notes = captured - failed
    let place = failed == 0 && captured > 0 ? CaptureNote.place(of: captured) : nil
    let expected = "\(notes)" + (place.map { " at \($0)" } ?? "")
    for (name, times) in channel.outcomes { outcomes[name, default: 0] += times }
    var found = 0
    for state in channel.states {
      found += state.phones
      phones += state.phones
      if state.notes == notes, place == nil || state.place == place {
        phonesRight += state.phones
      } else if wrong.count < 20 {
        let shown = "\(state.notes)" + (state.place.map { " at \($0)" } ?? "")
        wrong.append(
          Wrong(trip: trip, expected: expected, shown: shown, phones: state.phones))
      }
    }
    if found < count, wrong.count < 20 {
      wrong.append(
        Wrong(trip: trip, expected: expected, shown: "no card", phones: count - found))
    }
  }
}
