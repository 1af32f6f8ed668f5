internal import Clocks
internal import FieldTrips
internal import TripStore

extension Owner {
  /// Ends the cards of a member who has left a trip: they are told nothing more, and would show an
  /// old state for hours beside the card of who comes back. On any node, since the store knows the
  /// member no more; a card on the channel is its app's to end.
  ///
  /// - Parameter trip: as it was read when the member had left.
  func endCards(of member: MemberID, _ left: MemberRecord, on trip: TripRecord) {
    let letters = TokenRound.letters(to: [(member, left)], at: clock.wall)
    guard !letters.isEmpty, !isDraining,
      let type = settings.activityTypes[trip.definition.typeName],
      let state = try? trip.contentState(as: type)
    else { return }
    let app = tokenApp(trip.definition.app.bundleID)
    let farewell = Farewell(
      member: member, trip: trip, contentState: state.bytes,
      round: TokenRound(
        book: MemberBook(
          trip: trip.id, channelIsOpen: false, app: app, ways: ways(of: app), store: store,
          clock: clock),
        type: type))
    nursery.start { [self] in await sayFarewell(farewell, to: letters) }
  }

  private func sayFarewell(_ farewell: Farewell, to letters: [TokenRound.Letter]) async {
    let owed = await send(farewell, to: letters)
    guard !owed.isEmpty else { return }
    // A stop need not wait for what may take hours.
    errands.start { [self] in await sendAgain(farewell, to: owed) }
  }

  private struct Farewell: Sendable {
    let member: MemberID
    let trip: TripRecord
    let contentState: [UInt8]
    let round: TokenRound
  }

  /// - Returns: those that could not be sent it now.
  private func send(
    _ farewell: Farewell, to letters: [TokenRound.Letter]
  ) async -> [TokenRound.Letter] {
    let (trip, now) = (farewell.trip, clock.wall)
    let end = ReservedState(
      timestampSeconds: max(now.wholeSeconds, trip.lastTimestampSeconds + 1),
      revision: trip.revision, contentState: farewell.contentState, life: trip.life)
    let update = CardUpdate(
      isEnd: true, priority: 10, state: end, sentAt: now, dismissal: .atOnce)
    let answers = await farewell.round.send(
      update, frugalPriority: update.priority, to: letters)
    _ = noteStorm(
      answers.map { ($0.letter.environment, $0.answer) }, of: trip.definition.app.bundleID)
    counts.tokenPushes += answers.count
    return answers.compactMap { (letter, answer) in
      switch answer {
      case .later, .unsure: letter
      case .said, .defect: nil
      }
    }
  }

  /// Until each has it, its card cannot be seen any more, or the member has come back with it.
  private func sendAgain(_ farewell: Farewell, to letters: [TokenRound.Letter]) async {
    var owed = letters
    var failures = 0
    while !owed.isEmpty {
      let pause = Duration.seconds(15 << min(failures, 6))
      failures += 1
      guard (try? await loop.sleep(for: clock.real(pause))) != nil, !isDraining else { return }
      guard let present = try? await store.members([farewell.member], of: farewell.trip.id) else {
        continue
      }
      let tokens = present.first.flatMap { TripMember(stored: $0.record.body) }?.tokens
      owed = owed.filter {
        $0.token.mayBeVisible(at: clock.wall) && tokens?[$0.token.token] == nil
      }
      if !owed.isEmpty { owed = await send(farewell, to: owed) }
    }
  }
}
