internal import Clocks
internal import FieldTrips
internal import Transport

/// What is done for the apps' channels at regular times.
extension ServiceParts {
  /// Compares the channels of all apps with Apple's lists, at once and at the interval that is set,
  /// on the node that owns the first partition.
  func reconcileRegularly() async {
    guard let interval = channels.settings.reconcileEvery else { return }
    var seen: [AppID: Set<ChannelID>] = [:]
    var next = clock.wall
    while !Task.isCancelled {
      if clock.wall >= next, await ownsFirstPartition {
        next = clock.wall + interval
        for app in api.settings.apps {
          do {
            seen[app] = try await reconciler.reconcile(app, previous: seen[app]).seen
          } catch {
            log.warning("the channels cannot be reconciled now", ["reason": "\(error)"])
          }
        }
      }
      // After a restart the partition is ours only when the lease of the node before has run out.
      let pause = min(interval, Self.ownershipPoll)
      guard (try? await loop.sleep(for: clock.real(pause))) != nil else { return }
    }
  }

  private static var ownershipPoll: Duration { .seconds(60) }

  /// Fills and ages the pools of channels, and asks APNs to delete those that no trip looks after,
  /// once a minute of service time.
  func tendChannels() async {
    while !Task.isCancelled {
      for app in api.settings.apps {
        await channels.tend(app)
        await channels.deleteRetired(of: app)
      }
      guard (try? await loop.sleep(for: clock.real(.seconds(60)))) != nil else { return }
    }
  }
}
