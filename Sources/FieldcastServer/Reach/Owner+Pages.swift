internal import Transport
internal import TripStore

extension Owner {
  /// Works off a trip's members page by page, each page as often as it takes.
  ///
  /// - Parameters:
  ///   - complaint: what is said when a page fails.
  ///   - onlyWhileOn: ends when the trip may have no update any more.
  ///   - work: takes in the page behind a cursor, which is nil for the first; returns the cursor
  ///     of the next one, nil when there is none.
  /// - Returns: whether all were worked off; not when the partition went to another node, the
  ///   service stops, or the trip is over for those that want it on.
  func forEachPage(
    of trip: OwnedTrip, complaint: String, retry: Retry = Retry(), onlyWhileOn: Bool = false,
    _ work: (_ cursor: String?) async throws(StoreError) -> String?
  ) async -> Bool {
    var retry = retry
    var cursor: String?
    // Not told by the cursor: that of the first page is nil too.
    var isDone = false
    while !isDone {
      guard trip.isHeld, !isDraining else { return false }
      if onlyWhileOn, !trip.life.mayPublishUpdate { return false }
      do throws(StoreError) {
        cursor = try await work(cursor)
        isDone = cursor == nil
      } catch {
        if retry.isFirst {
          log.warning(
            "\(complaint); trying again", ["trip": "\(trip.id)", "reason": "\(error)"])
        }
        guard (try? await retry.pause(on: loop)) != nil else { return false }
      }
    }
    return true
  }
}
