package import FieldTrips
internal import Redis

/// A part of a trip's members.
package struct MemberPage: Sendable {
  package var members: [(id: MemberID, record: MemberRecord)]
  /// Where to go on; nil at the end.
  package var next: String?
}

extension TripStore {
  /// A part of all members of a trip, in no order.
  ///
  /// A member that is there all the while is on some page, and may be on two.
  ///
  /// - Parameter cursor: `next` of the page before; nil for the first.
  package func members(
    of trip: TripID, after cursor: String? = nil, limit: Int = 500
  ) async throws(StoreError) -> MemberPage {
    let reply = try await call(
      RedisCommand("HSCAN", keys(of: trip).members(trip), cursor ?? "0", "COUNT", limit))
    return try reading { () throws(RedisError) in
      let (next, values) = try Self.scanned(reply)
      var page = MemberPage(members: [], next: next)
      for index in stride(from: 0, to: values.count - 1, by: 2) {
        page.members.append(
          (try Self.memberID(values[index]), try MemberRecord.read(values[index + 1])))
      }
      return page
    }
  }

  /// A part of the members who are reached one by one, by an update token or to be started by a
  /// push; those who listen to the channel are not looked at.
  ///
  /// Pages as ``members(of:after:limit:)`` does.
  package func singleMembers(
    of trip: TripID, after cursor: String? = nil, limit: Int = 500
  ) async throws(StoreError) -> MemberPage {
    let keys = keys(of: trip)
    let reply = try await call(
      RedisCommand("SSCAN", keys.tokens(trip), cursor ?? "0", "COUNT", limit))
    let (next, ids) = try reading { () throws(RedisError) in
      let (next, values) = try Self.scanned(reply)
      return (next, try RESPValue.array(values).stringsValue())
    }
    let members = try reading { () throws(RedisError) in
      try ids.map { (id) throws(RedisError) in try Self.memberID(.bulk(Array(id.utf8))) }
    }
    return MemberPage(members: try await self.members(members, of: trip), next: next)
  }

  /// Those of some members who are on the trip.
  package func members(
    _ ids: some Collection<MemberID>, of trip: TripID
  ) async throws(StoreError) -> [(id: MemberID, record: MemberRecord)] {
    var present: [(id: MemberID, record: MemberRecord)] = []
    var rest = Array(ids)[...]
    while !rest.isEmpty {
      let part = rest.prefix(500)
      rest = rest.dropFirst(500)
      let records = try await call(
        RedisCommand("HMGET", keys(of: trip).members(trip), Spread(part.map(\.text))))
      try reading { () throws(RedisError) in
        for (id, record) in zip(part, try records.arrayValue()) where !record.isNull {
          present.append((id, try .read(record)))
        }
      }
    }
    return present
  }

  static func scanned(
    _ reply: RESPValue
  ) throws(RedisError) -> (next: String?, values: [RESPValue]) {
    let parts = try reply.arrayValue()
    guard parts.count == 2 else { throw reply.unexpected("a cursor and values") }
    let cursor = try parts[0].stringValue()
    return (cursor == "0" ? nil : cursor, try parts[1].arrayValue())
  }

  private static func memberID(_ value: RESPValue) throws(RedisError) -> MemberID {
    guard let member = try? MemberID(try value.stringValue()) else {
      throw value.unexpected("a member ID")
    }
    return member
  }
}
