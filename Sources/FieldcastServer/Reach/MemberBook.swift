internal import Clocks
internal import FieldTrips
internal import Transport
internal import TripStore

/// What is kept of a trip's members, and the ways to their phones.
struct MemberBook: Sendable {
  let trip: TripID
  let app: AppID
  let channelIsOpen: Bool
  let gateways: [AppID: AppGateway]
  let store: TripStore
  let clock: ServiceClock

  /// The app's way to APNs in one environment, if this service has it.
  func gateway(_ environment: AppID.Environment) -> AppGateway? {
    gateways.first { $0.key.bundleID == app.bundleID && $0.key.environment == environment }?.value
  }

  /// The environments that a token may be tried in.
  var served: Set<AppID.Environment> {
    Set(AppID.Environment.allCases.filter { gateway($0) != nil })
  }

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
  /// Those of a trip's members who have not left meanwhile.
  func present(
    _ members: some Sequence<MemberID>, of trip: OwnedTrip
  ) async throws(StoreError) -> [(id: MemberID, record: MemberRecord)] {
    var present: [(id: MemberID, record: MemberRecord)] = []
    for member in members {
      if let record = try await store.member(member, of: trip.id) {
        present.append((member, record))
      }
    }
    return present
  }

  /// - Parameter life: what is kept of the members must agree with it.
  func book(of trip: OwnedTrip, in life: TripLife) -> MemberBook {
    MemberBook(
      trip: trip.id, app: trip.definition.app, channelIsOpen: life.channel.openID != nil,
      gateways: lanes.mapValues(\.gateway), store: store, clock: clock)
  }
}
