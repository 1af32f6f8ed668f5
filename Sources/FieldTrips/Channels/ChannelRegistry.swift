package import Clocks

/// The channels of one app as we know them, and the creations whose answers are due.
///
/// ```
///  intended ──created──▶ trip ─────retired─────▶ deletion ──deleted──▶ (gone)
///      │  └──created──▶ warm ──taken──▶ trip          ▲
///      └──refused──▶ (nothing)     └─────retired──────┘
/// ```
/// Nothing is deleted that is not in here, so what other services made is safe.
package struct ChannelRegistry: Sendable, Equatable {
  package private(set) var records: [ChannelID: ChannelRecord]
  package private(set) var intents: [String: ChannelIntent]

  package init(records: [ChannelRecord] = [], intents: [ChannelIntent] = []) {
    self.records = Dictionary(records.map { ($0.id, $0) }, uniquingKeysWith: { first, _ in first })
    self.intents = Dictionary(
      intents.map { ($0.requestID, $0) }, uniquingKeysWith: { first, _ in first })
  }

  /// Before APNs is asked for a channel.
  package mutating func intend(_ intent: ChannelIntent) {
    intents[intent.requestID] = intent
  }

  /// APNs made the channel. Twice, or after a reconciliation found it, changes nothing.
  ///
  /// - Parameter storage: what was asked for; counts only for a request that was not recorded, whose
  ///   channel is taken in as warm, lest it leak.
  @discardableResult
  package mutating func created(
    _ channel: ChannelID, storage: StoragePolicy, for requestID: String, at now: UnixTime
  ) -> ChannelRecord {
    let intent = intents.removeValue(forKey: requestID)
    if let known = records[channel] { return known }
    let record = ChannelRecord(
      id: channel, storage: intent?.storage ?? storage, createdAt: now,
      use: intent?.trip.map(ChannelUse.trip) ?? .warm)
    records[channel] = record
    return record
  }

  /// APNs certainly made none: it refused, or the request never left. When that is not certain, the
  /// intent must stay for ``Reconciliation``.
  package mutating func refused(_ requestID: String) { intents[requestID] = nil }

  /// Gives a trip the oldest warm channel of this policy, or nil if there is none.
  package mutating func takeWarm(_ storage: StoragePolicy, for trip: TripID) -> ChannelID? {
    let oldest = records.values.filter { $0.use == .warm && $0.storage == storage }
      .min { ($0.createdAt, $0.id) < ($1.createdAt, $1.id) }
    guard let oldest else { return nil }
    records[oldest.id]?.use = .trip(trip)
    return oldest.id
  }

  /// The channel is no longer needed from this time on. The earliest time counts.
  package mutating func retire(_ channel: ChannelID, at time: UnixTime) {
    guard let record = records[channel] else { return }
    if case .deletion(let earlier) = record.use, earlier <= time { return }
    records[channel]?.use = .deletion(at: time)
  }

  /// APNs deleted the channel, or does not know it.
  package mutating func deleted(_ channel: ChannelID) { records[channel] = nil }

  /// Channels whose time has come, the longest due first.
  package func dueForDeletion(at now: UnixTime) -> [ChannelID] {
    let due = records.values.compactMap { record -> (UnixTime, ChannelID)? in
      guard case .deletion(let at) = record.use, at <= now else { return nil }
      return (at, record.id)
    }
    return due.sorted { $0 < $1 }.map(\.1)
  }

  /// Takes a reconciliation's findings over. Orphans stay where they are, and channels that were lost
  /// are forgotten here, after which the trips that had them must be told.
  package mutating func accept(_ reconciliation: Reconciliation, at now: UnixTime) {
    for record in reconciliation.lost + reconciliation.alreadyDeleted { deleted(record.id) }
    for record in reconciliation.abandoned { retire(record.id, at: now) }
    for resolved in reconciliation.resolved {
      let intent = resolved.intent
      if case .found(let channel) = resolved.outcome {
        created(channel, storage: intent.storage, for: intent.requestID, at: now)
        // Whoever waited for it has another by now, or gave up.
        records[channel]?.use = .warm
      } else {
        refused(intent.requestID)
      }
    }
  }

  /// How many channels should be asked for, that so many are warm or on their way.
  package func warmShortfall(_ storage: StoragePolicy, target: Int) -> Int {
    let warm = records.values.count { $0.use == .warm && $0.storage == storage }
    let coming = intents.values.count { $0.trip == nil && $0.storage == storage }
    return max(0, target - warm - coming)
  }

  /// Channels that count against Apple's limit, with creations that may have succeeded and what
  /// others are known to have.
  package func used(foreign: Int = 0) -> Int { records.count + intents.count + foreign }
}
