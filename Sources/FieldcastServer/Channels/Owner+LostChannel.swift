internal import FieldTrips
internal import TripStore

/// What becomes of a trip whose channel APNs no longer knows.
extension Owner {
  /// Asks for another channel. Cards on the lost one hear nothing any more: members whom a push can
  /// start get new ones there, and the others learn of it when they join again.
  func lost(
    _ channel: ChannelID, of trip: OwnedTrip, storing change: AnswerRecord
  ) async {
    log.warning("APNs no longer knows a trip's channel", ["trip": "\(trip.id)"])
    // The broadcast may have gone to a channel that was replaced before its answer came.
    let isPresent = trip.life.channel.openID == channel
    if isPresent, trip.life.mayPublishUpdate {
      // Before the trip's life says that it has no channel: another node would repeat it till then.
      guard await forgetCards(of: trip) else { return }
    }
    await channels.lost(channel, of: trip.definition.app)
    await advance(trip, by: .channelLost(channel), storing: change)
    if let present = trip.life.channel.openID, present != channel {
      trip.publisher.channelReplaced()
    }
  }

  /// - Returns: false when the partition or the store is lost before it is done.
  private func forgetCards(of trip: OwnedTrip) async -> Bool {
    let book = book(of: trip, in: trip.life)
    return await forEachPage(of: trip, complaint: "cards on a lost channel cannot be forgotten") {
      (cursor) throws(StoreError) in
      let page = try await store.members(of: trip.id, after: cursor, limit: 200)
      for member in page.members {
        guard TripMember(stored: member.record.body)?.listensToChannel == true else { continue }
        try await book.change(member.id) { if $0.listensToChannel { $0.card.channelLost() } }
      }
      return page.next
    }
  }
}
