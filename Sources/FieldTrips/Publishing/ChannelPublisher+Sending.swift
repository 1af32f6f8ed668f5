package import Clocks

extension ChannelPublisher {
  /// What must be stored durably, under the owner's epoch, before the first byte is sent.
  package struct Reservation: Sendable, Equatable {
    package let id: RequestID
    package let rank: SendRank
    /// Seconds since 1970. The store may raise it, never lower it: `max(proposed, last + 1)`.
    package let proposedTimestampSeconds: Int64
    /// The bucket's anchor as a date, the token of this request spent.
    package let anchor: UnixTime
    package let ratePerHour: Double
  }

  /// The channel's turn in the app's queue: spends the token and takes the waiting changes along.
  ///
  /// - Returns: nil if nothing is due any more; plan again then.
  package mutating func beginSend(at now: Moment, wall: UnixTime) -> Reservation? {
    guard case .send(let rank) = plan(at: now, wall: wall) else { return nil }
    var flight = Flight(id: nextID, rank: rank, isRefresh: isRefreshWanted)
    nextID &+= 1
    if rank != .tail {
      // The end is on no budget, but what it takes is not there for others.
      bucket.spend(at: now)
      flight.backlog = backlog
      flight.revision = revision
      backlog = Backlog()
    }
    isTailDirty = false
    isRefreshWanted = false
    lastSend = now
    nextTimestampAt = now + .seconds(1)
    lastTimestampSeconds = max(wall.wholeSeconds, lastTimestampSeconds + 1)
    flights.add(flight)
    return Reservation(
      id: flight.id, rank: rank, proposedTimestampSeconds: lastTimestampSeconds,
      anchor: wall - (now - bucket.anchor), ratePerHour: ratePerHour)
  }

  /// The reservation is stored, and the content-state that goes out was read with it.
  ///
  /// - Parameters:
  ///   - revision: of that content-state; it may be newer than any that we were told of.
  ///   - timestampSeconds: as the store settled it.
  package mutating func sent(_ id: RequestID, revision: Revision, timestampSeconds: Int64) {
    lastTimestampSeconds = max(lastTimestampSeconds, timestampSeconds)
    guard flights.setRevision(revision, of: id) else { return }
    // Changes that came after beginSend and before the read travel along.
    let waiting = max(0, Int(self.revision.number - coveredRevision.number))
    guard waiting < backlog.count else { return }
    if waiting == 0 {
      flights.merge(backlog, into: id)
      isTailDirty = false
    }
    backlog.recount(waiting)
  }

  /// Whether another request, in flight or accepted, carries what this one read: then a broadcast
  /// of it would show nobody anything new and waste a token. Ask after
  /// ``sent(_:revision:timestampSeconds:)``, and answer with ``BroadcastOutcome/superfluous``.
  ///
  /// It happens where a significant change begins a second request before the first has read the
  /// state, which then has both.
  package func isSuperfluous(_ id: RequestID) -> Bool {
    guard let flight = flights[id], flight.rank == .significant || flight.rank == .ordinary,
      let revision = flight.revision
    else { return false }
    return revision <= max(publishedRevision, flights.newestRevision(besides: id) ?? .initial)
  }
}
