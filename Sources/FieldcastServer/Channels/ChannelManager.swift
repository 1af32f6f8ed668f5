internal import Clocks
internal import Crypto
internal import FieldTrips
internal import Transport
internal import TripStore

/// What came of asking for a channel for a trip.
enum ChannelOpening: Sendable, Equatable {
  case opened(ChannelID)
  /// The app has no channel left to give, or may not have any: its members are reached by token.
  case unavailable(reason: String)
  /// No one knows, or APNs cannot be reached: try again.
  case failed(reason: String)
}

/// Opens and deletes the channels of all apps, so that none is ever lost sight of.
///
/// A creation is recorded before APNs is asked. If the node dies before the answer is recorded, the
/// record says that a channel may exist which nobody knows, and ``reconcile(_:)`` finds it.
actor ChannelManager {
  nonisolated var unownedExecutor: UnownedSerialExecutor {
    loop.serial.asUnownedSerialExecutor()
  }

  private nonisolated let loop: EventLoop
  let store: TripStore
  let gateways: [AppID: AppGateway]
  let settings: ChannelSettings
  /// Those that a configured activity type has.
  let warmPolicies: Set<StoragePolicy>
  let clock: ServiceClock
  let log: ServiceLog
  private let nursery: Nursery
  /// Who waits for the channels that are being opened, by trip.
  private var waiters: [TripID: [Waiter]] = [:]
  private(set) var isDraining = false

  /// An app's channels of one storage policy that are made ahead.
  struct Pool: Hashable {
    let app: AppID
    let policy: StoragePolicy
  }
  /// Pools that are being filled.
  var filling: Set<Pool> = []
  /// Why APNs made no warm channel the last time.
  var refusals: [AppID: String] = [:]
  /// How near each app was to its quota when it was last looked at.
  var levels: [AppID: ChannelQuota.Level] = [:]

  init(
    store: TripStore, gateways: [AppID: AppGateway], settings: ChannelSettings,
    warmPolicies: Set<StoragePolicy>, clock: ServiceClock, log: ServiceLog, loop: EventLoop
  ) {
    self.store = store
    self.gateways = gateways
    self.settings = settings
    self.warmPolicies = warmPolicies
    self.clock = clock
    self.log = log
    self.loop = loop
    nursery = Nursery(loop: loop)
  }

  /// Works until drained.
  func run() async { await nursery.run() }

  /// Begins nothing more. A creation that is under way goes on: its channel must not get lost.
  func drain() {
    isDraining = true
    nursery.close()
  }

  /// Finds a channel for a trip: the one it has, a warm one, or a new one.
  ///
  /// Who asks while a channel is being opened for the same trip waits for that one.
  ///
  /// - Parameter patience: real time after which to answer ``ChannelOpening/failed(reason:)``, while
  ///   the opening goes on: asking again finds what came of it. Nil waits as long as APNs may take.
  func open(
    for trip: TripID, definition: TripDefinition, patience: Duration? = nil
  ) async -> ChannelOpening {
    await withUnsafeContinuation { continuation in
      guard !isDraining else {
        return continuation.resume(returning: .failed(reason: "The service is stopping."))
      }
      let waiter = Waiter(continuation)
      if waiters[trip] == nil {
        waiters[trip] = [waiter]
        nursery.start { [self] in await open(trip, definition) }
      } else {
        waiters[trip]?.append(waiter)
      }
      if let patience {
        waiter.timer = loop.schedule(at: loop.now + patience) {
          waiter.resume(.failed(reason: "APNs has not answered yet."))
        }
      }
    }
  }

  private func open(_ trip: TripID, _ definition: TripDefinition) async {
    let opening = await find(trip, definition)
    for waiter in waiters.removeValue(forKey: trip) ?? [] {
      if let timer = waiter.timer { loop.cancel(timer) }
      waiter.resume(opening)
    }
  }

  private func find(_ trip: TripID, _ definition: TripDefinition) async -> ChannelOpening {
    let app = definition.app
    guard let gateway = gateways[app] else {
      return .unavailable(reason: "The app \(app) is not configured here.")
    }
    do throws(StoreError) {
      if let channel = try await store.takeChannel(
        for: trip, of: app, storage: definition.storagePolicy)
      {
        refill(definition.storagePolicy, of: app)
        return .opened(channel)
      }
      let intent = ChannelIntent(
        requestID: UUIDText.random(), storage: definition.storagePolicy, trip: trip,
        askedAt: clock.wall)
      switch try await store.intend(intent, of: app, quota: settings.quota) {
      case .hasChannel(let channel): return .opened(channel)
      case .quotaUsedUp(let used):
        return .unavailable(reason: "The app has used up its quota of \(used) channels.")
      case .recorded: return try await create(intent, app, gateway)
      }
    } catch {
      return .failed(reason: "\(error)")
    }
  }

  /// Begins to replace what was taken from a pool; nobody waits for it.
  private func refill(_ policy: StoragePolicy, of app: AppID) {
    guard settings.warm > 0, !isDraining else { return }
    nursery.start { [self] in await fill(policy, of: app) }
  }

  private func create(
    _ intent: ChannelIntent, _ app: AppID, _ gateway: AppGateway
  ) async throws(StoreError) -> ChannelOpening {
    switch await gateway.createChannel(intent.storage, request: intent.requestID) {
    case .created(let channel):
      let record = try await store.channelCreated(
        channel, for: intent, of: app, at: clock.wall)
      if case .trip = record.use { return .opened(channel) }
      guard let trip = intent.trip,
        let own = try await store.takeChannel(
          for: trip, of: app, storage: intent.storage)
      else { return .failed(reason: "The trip's channel was taken meanwhile.") }
      return .opened(own)
    case .refused(let reason, let isFinal):
      try await store.creationRefused(intent.requestID, of: app)
      log.warning("APNs gives no channel", ["app": "\(app)", "reason": reason])
      return isFinal ? .unavailable(reason: reason) : .failed(reason: reason)
    case .notSent(let reason):
      try await store.creationRefused(intent.requestID, of: app)
      return .failed(reason: reason)
    case .unknown(let reason):
      // The record stays: there may be a channel now that nobody knows.
      log.warning(
        "it is not known whether APNs made a channel",
        ["app": "\(app)", "request": intent.requestID, "reason": reason])
      return .failed(reason: reason)
    }
  }

  /// Deletes those channels of an app whose time has come and that no trip looks after. What is not
  /// deleted now is due again in a few minutes.
  ///
  /// - Returns: how many are gone.
  @discardableResult
  func deleteRetired(of app: AppID) async -> Int {
    var deleted = 0
    do throws(StoreError) {
      while !isDraining {
        let claims = try await store.claimDeletions(
          of: app, by: clock.wall, claim: Self.deletionRetry, limit: 20)
        if claims.isEmpty { break }
        for claim in claims where !isDraining {
          if await delete(claim.channel, of: app) { deleted += 1 }
        }
      }
    } catch {
      log.warning(
        "channels cannot be deleted now", ["app": "\(app)", "reason": "\(error)"])
    }
    return deleted
  }

  /// In service time; also what a node that dies may take.
  private static var deletionRetry: Duration { .seconds(300) }

  /// Deletes a channel at APNs and in the registry.
  ///
  /// - Returns: false when it may still be there; ask again later.
  func delete(_ channel: ChannelID, of app: AppID) async -> Bool {
    guard let gateway = gateways[app] else { return false }
    switch await gateway.deleteChannel(channel) {
    case .deleted: break
    case .failed(let reason):
      log.warning("a channel is not deleted; trying again", ["app": "\(app)", "reason": reason])
      return false
    }
    return await forget(channel, of: app)
  }

  /// APNs no longer knows the channel.
  func lost(_ channel: ChannelID, of app: AppID) async {
    _ = await forget(channel, of: app)
  }

  private func forget(_ channel: ChannelID, of app: AppID) async -> Bool {
    do throws(StoreError) {
      try await store.channelDeleted(channel, of: app)
      return true
    } catch {
      log.warning("a deleted channel cannot be struck off", ["reason": "\(error)"])
      return false
    }
  }
}

/// One who waits for a channel, and is answered once: by its coming, or by a timer.
///
/// `@unchecked Sendable` is right because the channel manager's loop alone touches it.
private final class Waiter: @unchecked Sendable {
  private var continuation: UnsafeContinuation<ChannelOpening, Never>?
  var timer: LoopTimer?

  init(_ continuation: UnsafeContinuation<ChannelOpening, Never>) {
    self.continuation = continuation
  }

  func resume(_ opening: ChannelOpening) {
    continuation?.resume(returning: opening)
    continuation = nil
    timer = nil
  }
}
