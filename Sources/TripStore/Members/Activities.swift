package import FieldTrips
internal import Redis

/// Whose card it is, and of which trip.
package struct ActivityOwner: Hashable, Sendable {
  package let trip: TripID
  package let member: MemberID

  package init(trip: TripID, member: MemberID) {
    self.trip = trip
    self.member = member
  }
}

extension TripStore {
  /// Notes whose card a phone's own ID names, so that its next token can be registered by that ID
  /// alone. It is forgotten a day after it was noted last: no card lives longer.
  package func noteActivity(
    _ activityID: String, _ owner: ActivityOwner
  ) async throws(StoreError) {
    let keys = keys(Partition(ofName: activityID, count: partitionCount))
    _ = try await call(
      RedisCommand(
        "SET", keys.activity(activityID), owner.trip.text + " " + owner.member.text, "EX", 86_400
      ).repeatable())
  }

  /// - Returns: nil for a card that was never registered, or is long over.
  package func owner(ofActivity activityID: String) async throws(StoreError) -> ActivityOwner? {
    let keys = keys(Partition(ofName: activityID, count: partitionCount))
    let reply = try await call(RedisCommand("GET", keys.activity(activityID)))
    return try reading { () throws(RedisError) in
      guard !reply.isNull else { return nil }
      let words = try reply.stringValue().split(separator: " ", maxSplits: 1)
      guard words.count == 2, let trip = try? TripID(words[0]),
        let member = try? MemberID(String(words[1]))
      else { throw reply.unexpected("whose card it is") }
      return ActivityOwner(trip: trip, member: member)
    }
  }
}
