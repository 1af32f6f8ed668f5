internal import APNsSimulator
internal import Clocks
internal import LoadHarness
internal import Synchronization

/// The phones of a simulator in this process, as a replay sees them.
final class SimulatedPhones: PhoneWorld {
  private let simulator: RunningSimulator
  private let bundleID: String
  /// The phone whose card is looked at.
  private let firstPhone = Mutex<Int?>(nil)

  init(simulator: RunningSimulator, bundleID: String) {
    self.simulator = simulator
    self.bundleID = bundleID
  }

  func addPhones(
    _ count: Int, channelID: String, contentState: String, staleDateSeconds: Int64?
  ) async throws {
    let bundleID = bundleID
    let numbers = try await simulator.run { apns, now throws(PhoneError) in
      try apns.addCrowd(
        count, bundleID: bundleID, channelID: channelID,
        contentState: Array(contentState.utf8), staleDateSeconds: staleDateSeconds, now: now)
    }
    firstPhone.withLock { if $0 == nil { $0 = numbers.lowerBound } }
  }

  func look(at channelID: String, since: Int) async throws -> ChannelLook {
    let bundleID = bundleID
    let phone = firstPhone.withLock { $0 }
    return try await simulator.run { apns, now throws(PhoneError) in
      guard let ledger = apns.channel(bundleID, channelID)?.ledger else {
        throw PhoneError.unknownChannel(channelID)
      }
      let fresh = min(ledger.accepted - since, ledger.recent.count)
      let convergence = try apns.convergence(bundleID, channelID, now: now)
      let newest = convergence.newestContentState
      var look = ChannelLook(
        newBroadcasts: ledger.recent.suffix(max(0, fresh)).map(ChannelLook.Broadcast.init),
        throttled: ledger.throttled,
        phonesByState: newest.map { [$0: convergence.showingNewest] } ?? [:])
      guard let phone, let card = try apns.cards(of: phone, now: now).first else { return look }
      look.contentState = card.contentState
      look.isStale = card.phase == .stale
      look.isEnded = card.phase == .ended
      look.isDismissed = card.phase == .dismissed
      return look
    }
  }

  func channelCount() async throws -> Int {
    await simulator.run { apns, _ in apns.channelCount }
  }
}

extension ChannelLook.Broadcast {
  init(_ push: ActivityPush) {
    self.init(
      at: push.acceptedAt, priority: push.priority,
      timestampSeconds: push.payload.timestampSeconds ?? 0, isEnd: push.payload.event == .end,
      contentState: push.payload.contentState?.text)
  }
}
