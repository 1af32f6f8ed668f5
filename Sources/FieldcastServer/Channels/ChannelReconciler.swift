internal import Clocks
internal import FieldTrips
internal import JSON
internal import Transport
internal import TripStore

/// Holds Apple's list of an app's channels against the books, and settles what is certain: creations
/// of which nothing came, and channels that are gone.
///
/// What nobody knows is reported, and deleted only when somebody asks for it by its ID: another
/// service may share the app.
struct ChannelReconciler: Sendable {
  let store: TripStore
  let gateways: [AppID: AppGateway]
  let clock: ServiceClock
  let log: ServiceLog

  /// Why an app's channels could not be compared.
  struct Failure: Error {
    let reason: String
  }

  /// Compares one app's channels and settles what is certain.
  ///
  /// - Parameter previous: what the last comparison saw; nil for the first.
  func reconcile(
    _ app: AppID, previous: Set<ChannelID>?
  ) async throws -> Reconciliation {
    guard let gateway = gateways[app] else { throw Failure(reason: "\(app) is not configured.") }
    let askedAt = clock.wall
    let listed: [ChannelID]
    switch await gateway.listChannels() {
    case .success(let channels): listed = channels
    case .failure(let failure): throw Failure(reason: failure.reason)
    }
    // In this order nothing is missed that was created meanwhile.
    let intents = try await store.channelIntents(of: app)
    let known = try await store.channels(of: app).map(\.channel)
    let result = Reconciliation(
      listing: ChannelListing(askedAt: askedAt, channels: Set(listed)), known: known,
      intents: intents, previous: previous, trips: await existingTrips(of: known))
    try await settle(result, of: app)
    report(result, of: app)
    return result
  }

  /// Deletes orphans that a person named. A channel that is not certainly in nobody's books stays:
  /// it may be one that a trip is about to get.
  ///
  /// - Returns: those that are gone now.
  func delete(
    _ wanted: Set<ChannelID>, of result: Reconciliation, of app: AppID
  ) async throws -> [ChannelID] {
    guard let gateway = gateways[app] else { throw Failure(reason: "\(app) is not configured.") }
    var deleted: [ChannelID] = []
    for channel in result.orphans where wanted.contains(channel) {
      guard case .deleted = await gateway.deleteChannel(channel) else { continue }
      try await store.channelDeleted(channel, of: app)
      deleted.append(channel)
    }
    return deleted
  }

  /// Those trips that the books name and that exist; nil when that cannot be read now.
  private func existingTrips(of known: [KnownChannel]) async -> Set<TripID>? {
    let named = known.compactMap { channel -> TripID? in
      if case .trip(let trip) = channel.use { trip } else { nil }
    }
    var existing: Set<TripID> = []
    for (trip, life) in zip(named, await store.lives(of: named)) {
      switch life {
      case .success(let life): if life != nil { existing.insert(trip) }
      case .failure: return nil
      }
    }
    return existing
  }

  private func settle(_ result: Reconciliation, of app: AppID) async throws {
    for resolved in result.resolved where resolved.outcome == .neverCreated {
      try await store.creationRefused(resolved.intent.requestID, of: app)
    }
    for channel in result.abandoned {
      try await store.retireChannel(channel.id, of: app, deleteAt: clock.wall)
    }
    for channel in result.alreadyDeleted { try await store.channelDeleted(channel.id, of: app) }
    // A trip's is replaced when its next broadcast is refused; a warm one only has to go.
    for channel in result.lost where channel.use == .warm {
      try await store.channelDeleted(channel.id, of: app)
    }
    // They count against the quota too, whoever made them.
    try await store.setForeignChannels(Set(result.orphans), of: app)
  }

  private func report(_ result: Reconciliation, of app: AppID) {
    if !result.suspects.isEmpty {
      log.warning(
        "channels at APNs that are probably ours, from creations whose answer was lost",
        ["app": "\(app)", "count": "\(result.suspects.count)"])
    }
    if !result.abandoned.isEmpty {
      log.warning(
        "channels of trips that no longer exist are being deleted",
        ["app": "\(app)", "count": "\(result.abandoned.count)"])
    }
    if !result.orphans.isEmpty {
      log.info(
        "channels at APNs that are in nobody's books",
        ["app": "\(app)", "count": "\(result.orphans.count)"])
    }
    if !result.lost.isEmpty {
      log.warning(
        "channels in the books that APNs does not know",
        ["app": "\(app)", "count": "\(result.lost.count)"])
    }
  }
}
