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
    let round = TokenRound(
      book: MemberBook(
        trip: trip.id, channelIsOpen: false, ways: ways(of: trip.definition.app.bundleID),
        store: store, clock: clock),
      type: type)
    let end = ReservedState(
      timestampSeconds: max(clock.wall.wholeSeconds, trip.lastTimestampSeconds + 1),
      revision: trip.revision, contentState: state.bytes, life: trip.life)
    let update = CardUpdate(
      isEnd: true, priority: 10, state: end, sentAt: clock.wall, dismissal: .atOnce)
    nursery.start { [self] in await send(update, to: letters, round) }
  }

  private func send(
    _ update: CardUpdate, to letters: [TokenRound.Letter], _ round: TokenRound
  ) async {
    let answers = await round.send(update, frugalPriority: update.priority, to: letters)
    noteStorm(answers.map(\.answer))
    counts.tokenPushes += answers.count
  }
}
