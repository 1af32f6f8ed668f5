internal import Clocks
internal import FieldTrips
internal import Transport
internal import TripStore

/// What is kept of a trip's members, and the ways to their phones.
struct MemberBook: Sendable {
  let trip: TripID
  let channelIsOpen: Bool
  let app: TokenApp
  /// The app's ways to APNs that this service has.
  let ways: [AppID.Environment: AppGateway]
  let store: TripStore
  let clock: ServiceClock

  /// The environments that a token may be tried in.
  var served: Set<AppID.Environment> { Set(ways.keys) }

  /// Changes what is kept of a member; of one who has left nothing is.
  ///
  /// - Parameter body: called again when another change came between.
  func change(
    _ member: MemberID, _ body: (inout TripMember) -> Void
  ) async throws(StoreError) {
    _ = try await store.changeMember(member, of: trip, at: clock.wall, announce: false) {
      guard let present = $0, var known = TripMember(stored: present.body) else { return $0 }
      body(&known)
      return MemberRecord(known, channelIsOpen: channelIsOpen)
    }
  }
}

extension Owner {
  /// Reserves what is sent to single cards: a start, or the state for who has a new token.
  ///
  /// Hundreds may come one by one within a second, and each with a timestamp of its own would drive
  /// the trip's far ahead of the clock. So they share one a second, unless the state is another:
  /// then the second is waited for.
  func reserveForSome(
    _ purpose: BroadcastPurpose, of trip: OwnedTrip
  ) async throws(StoreError) -> ReserveOutcome {
    if let (last, state) = trip.reservedForSome {
      let lead = UnixTime(wholeSeconds: state.timestampSeconds + 1) - clock.wall
      if lead > .zero {
        if last == purpose, state.revision == trip.revision, state.life == trip.life {
          return .reserved(state)
        }
        // Not longer, where the clock was set back.
        try? await loop.sleep(for: clock.real(min(lead, .seconds(2))))
      }
    }
    let outcome = try await reserve(
      purpose, for: trip, timestampSeconds: clock.wall.wholeSeconds)
    if case .reserved(let state) = outcome { trip.reservedForSome = (purpose, state) }
    return outcome
  }

  /// - Parameter life: what is kept of the members must agree with it.
  func book(of trip: OwnedTrip, in life: TripLife) -> MemberBook {
    let app = tokenApp(trip.definition.app.bundleID)
    return MemberBook(
      trip: trip.id, channelIsOpen: life.channel.openID != nil, app: app, ways: ways(of: app),
      store: store, clock: clock)
  }
}
