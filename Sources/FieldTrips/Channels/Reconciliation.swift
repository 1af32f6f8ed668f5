package import Clocks

/// What APNs answered to "list all channels".
package struct ChannelListing: Hashable, Sendable {
  /// When the list was asked for: what was created later may be missing.
  package let askedAt: UnixTime
  package let channels: Set<ChannelID>

  package init(askedAt: UnixTime, channels: Set<ChannelID>) {
    self.askedAt = askedAt
    self.channels = channels
  }
}

/// Apple's list held against ours. It only tells; nothing in it is an order to delete.
///
/// Someone else may make channels for the same app, so one that we did not record is never taken for
/// ours.
package struct Reconciliation: Sendable, Equatable {
  /// A creation whose answer never came, and what became of it.
  package struct ResolvedIntent: Sendable, Equatable {
    package enum Outcome: Sendable, Equatable {
      /// No channel appeared since.
      case neverCreated
      /// Perhaps one of the new channels: see the orphans.
      case uncertain
    }

    package let intent: ChannelIntent
    package let outcome: Outcome
  }

  /// Ours in the books, unknown to APNs: live trips among them need new channels.
  package internal(set) var lost: [KnownChannel] = []
  /// Due for deletion, and gone already.
  package internal(set) var alreadyDeleted: [KnownChannel] = []
  /// Ours for a trip that no longer exists: to be retired.
  package internal(set) var abandoned: [KnownChannel] = []
  /// At APNs and in nobody's books. To be deleted only when a person asks for it.
  package internal(set) var orphans: [ChannelID] = []
  /// Orphans that probably are ours, since they appeared while an answer was lost.
  package internal(set) var suspects: [ChannelID] = []
  /// New, and perhaps about to be recorded by an answer that is on its way: decided next time.
  package internal(set) var undecided: [ChannelID] = []
  package internal(set) var resolved: [ResolvedIntent] = []

  /// What is accounted for; the next reconciliation wants it as `previous`.
  package internal(set) var seen: Set<ChannelID> = []

  /// - Parameters:
  ///   - known: all channels in our books, read after the list was asked for, so that what was
  ///     recorded meanwhile is among them.
  ///   - intents: creations without an answer, read before `known`, so that none is missed that
  ///     turned into a channel in between.
  ///   - previous: ``seen`` of the last reconciliation. An unknown channel that stood there already
  ///     is an orphan, and never a suspect. Without it, every unknown one counts as new.
  ///   - trips: all trips that exist, or nil if that is not known.
  ///   - settling: how long after a request the answer and Apple's list may lag behind.
  package init(
    listing: ChannelListing, known: [KnownChannel], intents: [ChannelIntent],
    previous: Set<ChannelID>? = nil, trips: Set<TripID>? = nil,
    settling: Duration = .seconds(60)
  ) {
    let settledBefore = listing.askedAt - settling
    for record in known.sorted(by: { $0.id < $1.id })
    where record.createdAt < settledBefore {
      sort(record, isListed: listing.channels.contains(record.id), trips)
    }
    let unknown = listing.channels.subtracting(known.map(\.id))
    let fresh = unknown.filter { previous?.contains($0) != true }.sorted()
    orphans = unknown.subtracting(fresh).sorted()
    let intents = intents.sorted {
      ($0.askedAt, $0.requestID) < ($1.askedAt, $1.requestID)
    }
    settle(fresh, intents, settledBefore: settledBefore)
    seen = listing.channels.subtracting(undecided)
  }

  private mutating func sort(_ record: KnownChannel, isListed: Bool, _ trips: Set<TripID>?) {
    switch (record.use, isListed) {
    case (.deletion, false): alreadyDeleted.append(record)
    case (_, false): lost.append(record)
    case (.trip(let trip), true):
      if let trips, !trips.contains(trip) { abandoned.append(record) }
    case (.warm, true), (.deletion, true): break
    }
  }

  /// Decides about channels that appeared since the last listing, and intents without answer.
  private mutating func settle(
    _ fresh: [ChannelID], _ intents: [ChannelIntent], settledBefore: UnixTime
  ) {
    let overdue = intents.filter { $0.askedAt < settledBefore }
    guard overdue.count == intents.count || fresh.isEmpty else {
      // An answer that is on its way may record any of them.
      undecided = fresh
      return
    }
    for intent in overdue {
      resolved.append(
        ResolvedIntent(intent: intent, outcome: fresh.isEmpty ? .neverCreated : .uncertain))
    }
    orphans = (orphans + fresh).sorted()
    if !overdue.isEmpty { suspects = fresh }
  }
}
