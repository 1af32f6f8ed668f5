internal import Clocks
internal import FieldTrips
internal import TripStore

/// How members who joined before the trip began get their cards: by push, once.
///
/// A start is recorded before it is sent, with the person's budget and with the member's card. If
/// the node dies between the two, that member is not started; never would one see two cards.
extension Owner {
  /// Starts the cards of all members who have a start token and no card.
  func startMembers(of trip: OwnedTrip) async {
    defer {
      trip.tasks -= 1
      restIfPossible(trip)
    }
    var cursor: String?
    var retry = Retry()
    repeat {
      guard trip.isHeld, !isDraining, trip.life.mayPublishUpdate else { return }
      do throws(StoreError) {
        let page = try await store.members(of: trip.id, after: cursor, limit: 200)
        let waiting = page.members.filter { StartRound.mayStart($0.record) }
        if !waiting.isEmpty { try await start(waiting, of: trip) }
        cursor = page.next
      } catch {
        log.warning(
          "members cannot be started; trying again",
          ["trip": "\(trip.id)", "reason": "\(error)"])
        guard (try? await retry.pause(on: loop)) != nil else { return }
      }
    } while cursor != nil
  }

  private func start(
    _ members: [(id: MemberID, record: MemberRecord)], of trip: OwnedTrip
  ) async throws(StoreError) {
    let reserved = try await store.reserve(
      .update, for: trip.id, timestampSeconds: clock.wall.wholeSeconds, anchor: nil,
      owner: trip.holding.ownership)
    guard case .reserved(let state) = reserved else { return }
    let round = StartRound(
      book: book(of: trip, in: state.life), definition: trip.definition, type: trip.type,
      state: state)
    let grants = try await round.grant(members.map(\.id))
    counts.startsWithheld += grants.withheld
    if grants.withheld > 0 {
      log.info(
        "cards are not started: the devices' budgets of starts are spent",
        ["trip": "\(trip.id)", "members": "\(grants.withheld)"])
    }
    var left = grants.starts
    // A dead token gives way to another of the same person; there are few.
    for _ in 0..<4 where !left.isEmpty {
      let answers = await round.send(left)
      counts.starts += answers.count
      noteStorm(answers.map(\.answer))
      let outcome = try await round.settle(answers, isStorm: storm.isRaging)
      if let defect = outcome.defect {
        log.error("APNs refuses starts", ["trip": "\(trip.id)", "reason": defect])
      }
      left = outcome.again
    }
  }
}
