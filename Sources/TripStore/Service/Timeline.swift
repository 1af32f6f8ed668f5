package import FieldTrips
internal import Redis

extension TripStore {
  /// About how many broadcasts of a trip are kept for people who ask why a card shows what it shows,
  /// the newest; up to twenty more until Redis trims them. They go with the trip.
  package static let timelineLimit = 64

  /// What was kept of a trip's broadcasts, as ``AnswerRecord/timeline`` had it, oldest first.
  package func timeline(of trip: TripID) async throws(StoreError) -> [[UInt8]] {
    let reply = try await call(
      RedisCommand(
        "XREVRANGE", keys(of: trip).timeline(trip), "+", "-", "COUNT", Self.timelineLimit))
    return try reading { () throws(RedisError) in
      var entries: [[UInt8]] = []
      for value in try reply.arrayValue().reversed() {
        let parts = try value.arrayValue()
        guard parts.count == 2 else { throw value.unexpected("a stream's entry") }
        entries.append(try parts[1].fieldMap()["b"] ?? [])
      }
      return entries
    }
  }
}
