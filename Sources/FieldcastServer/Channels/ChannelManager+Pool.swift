internal import Clocks
internal import Crypto
internal import FieldTrips
internal import TripStore

/// Channels made ahead, so that a new trip takes one without waiting for APNs.
///
/// Nodes share an app's pools by the store: each creation is recorded before it is asked for, by a
/// script that counts what is warm and what is coming. So many nodes fill a pool no fuller than one.
extension ChannelManager {
  /// What is done for an app's channels now and then: those made ahead that got too old or too many
  /// go, missing ones are made, and the quota is looked at.
  func tend(_ app: AppID) async {
    await watchQuota(of: app)
    for policy in StoragePolicy.allCases {
      // Where there is none left, those that wait are better given to the trips that are.
      let isKept = warmPolicies.contains(policy) && levels[app] != .usedUp
      let size = isKept ? settings.warm : 0
      do throws(StoreError) {
        try await store.retireWarm(
          of: app, storage: policy, createdBefore: clock.wall - settings.warmAge, keeping: size,
          at: clock.wall)
      } catch {
        log.warning("warm channels cannot be retired", ["app": "\(app)", "reason": "\(error)"])
      }
      await fill(policy, of: app)
    }
  }

  /// Makes channels until the pool is full or APNs gives none; the next ``tend(_:)`` tries again.
  func fill(_ policy: StoragePolicy, of app: AppID) async {
    let pool = Pool(app: app, policy: policy)
    guard settings.warm > 0, warmPolicies.contains(policy), let gateway = gateways[app],
      filling.insert(pool).inserted
    else { return }
    defer { filling.remove(pool) }
    do throws(StoreError) {
      while !isDraining {
        let intent = ChannelIntent(
          requestID: UUIDText.random(), storage: policy, trip: nil, askedAt: clock.wall)
        let outcome = try await store.intendWarm(
          intent, of: app, poolSize: settings.warm, quota: settings.quota)
        guard outcome == .recorded, try await makeWarm(intent, app, gateway) else { return }
      }
    } catch {
      log.warning("channels cannot be made ahead", ["app": "\(app)", "reason": "\(error)"])
    }
  }

  private func makeWarm(
    _ intent: ChannelIntent, _ app: AppID, _ gateway: AppGateway
  ) async throws(StoreError) -> Bool {
    switch await gateway.createChannel(intent.storage, request: intent.requestID) {
    case .created(let channel):
      _ = try await store.channelCreated(channel, for: intent, of: app, at: clock.wall)
      refusals[app] = nil
      return true
    case .refused(let reason, _), .notSent(let reason):
      try await store.creationRefused(intent.requestID, of: app)
      // The same again each minute would say no more.
      if refusals.updateValue(reason, forKey: app) != reason {
        log.warning(
          "APNs gives no channel to keep for later trips", ["app": "\(app)", "reason": reason])
      }
      return false
    case .unknown(let reason):
      // The record stays, and counts as one of the pool until reconciliation knows more.
      log.warning(
        "it is not known whether APNs made a channel",
        ["app": "\(app)", "request": intent.requestID, "reason": reason])
      return false
    }
  }

  private func watchQuota(of app: AppID) async {
    let used: Int
    do throws(StoreError) {
      used = try await store.channelUsage(of: app).used
    } catch {
      return log.warning("channels cannot be counted", ["app": "\(app)", "reason": "\(error)"])
    }
    let level = settings.quota.level(used: used)
    guard levels.updateValue(level, forKey: app) ?? .ample != level else { return }
    let facts: KeyValuePairs = [
      "app": "\(app)", "used": "\(used)", "limit": "\(settings.quota.limit)",
    ]
    switch level {
    case .ample: log.info("there are enough channels again", facts)
    case .scarce:
      log.warning(
        "channels run short: no more are made ahead. `fieldcast channels` shows what they are for",
        facts)
    case .usedUp:
      log.error("channels are used up: new trips are reached by token until some are free", facts)
    }
  }
}
