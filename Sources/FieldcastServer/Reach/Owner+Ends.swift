internal import Clocks
internal import FieldTrips
internal import TripStore

/// How the end reaches cards with tokens that could not be sent it at once.
///
/// Nothing comes after an end, so who still has to get it is marked in the store, and is tried until
/// it has it or its card cannot be seen any more, by whoever owns the trip then.
extension Owner {
  /// Marks who is owed the end, and schedules the next try.
  ///
  /// - Returns: false if the next owner has to send the end to all.
  func keepOwedEnds(_ waves: TokenWaves, of trip: OwnedTrip) async -> Bool {
    let owed = waves.owed
    guard !owed.isEmpty else { return true }
    waves.owed = []
    let book = book(of: trip, in: trip.life)
    for member in owed {
      do throws(StoreError) {
        try await insisting(on: trip) { () throws(StoreError) in
          try await book.change(member) { $0.awaitsEnd = true }
        }
      } catch {
        return false
      }
    }
    log.info(
      "cards with tokens could not be sent the end; trying again",
      ["trip": "\(trip.id)", "members": "\(owed.count)"])
    return await scheduleCards(of: trip, at: nextTryOfEnds(of: trip))
  }

  /// The longer ago the end is, the longer the pause.
  private func nextTryOfEnds(of trip: OwnedTrip) -> UnixTime {
    let now = clock.wall
    let ended: UnixTime =
      switch trip.life.phase {
      case .scheduled, .live: now
      case .ending(let since): since
      case .ended(let at): at
      }
    return now + max(.seconds(15), min(.seconds(900), (now - ended) / 2))
  }

  /// Sends the end to who is marked.
  func sendOwedEnds(of trip: OwnedTrip) {
    trip.tasks += 1
    nursery.start { [self] in await payOwedEnds(of: trip) }
  }

  private func payOwedEnds(of trip: OwnedTrip) async {
    defer {
      trip.tasks -= 1
      restIfPossible(trip)
    }
    // Should this node die on the way, another one begins anew.
    guard await scheduleCards(of: trip, at: clock.wall + Self.passLimit) else { return }
    let waves = trip.waves ?? TokenWaves()
    trip.waves = waves
    guard !waves.isRunning, !isDraining else { return }
    waves.isRunning = true
    let isRead = await forEachPage(of: trip, complaint: "who awaits an end cannot be read") {
      (cursor) throws(StoreError) in
      let page = try await store.singleMembers(of: trip.id, after: cursor)
      for member in page.members where TripMember(stored: member.record.body)?.awaitsEnd == true {
        waves.owed.insert(member.id)
      }
      return page.next
    }
    if isRead { await payOwed(waves, of: trip) }
    waves.isRunning = false
    // Whoever told it waits for it, and is let go where nothing can be sent any more.
    if waves.pending != nil {
      _ = await runWaves(waves, of: trip)
      return
    }
    guard isRead, trip.isHeld, !isDraining else { return }
    if waves.owed.isEmpty {
      await scheduleCards(of: trip, at: nil)
    } else {
      _ = await keepOwedEnds(waves, of: trip)
    }
  }
}
