internal import APNs
internal import Clocks
internal import FieldTrips
internal import TripStore

/// How notifications come to their devices in time.
///
/// A device is marked in the store before it is sent to, and nobody sends to a device that another
/// attempt has marked and got an answer for. If the node dies between the mark and APNs' answer, or
/// the connection does, whether the device got it is not known: then it is sent once more, since a
/// second one takes the first one's place on the screen. What the caller wants attempted once is not.
extension Owner {
  /// A notification is due.
  func notify(_ id: NotificationID, of holding: Holding) {
    guard desk.take(id, of: holding) else { return }
    beginNotifications()
  }

  private func beginNotifications() {
    while !isDraining, let next = desk.begin() {
      nursery.start { [self] in await bringOn(next.id, of: next.holding) }
    }
  }

  private func bringOn(_ id: NotificationID, of holding: Holding) async {
    await work(on: id, of: holding)
    desk.end(id)
    beginNotifications()
  }

  private func work(on id: NotificationID, of holding: Holding) async {
    guard holding.isOurs, !isDraining else { return }
    do throws(StoreError) {
      while let due = try await step(id, of: holding) {
        // What is to go on at once goes on here.
        guard holding.isOurs, !isDraining, due <= clock.wall else {
          return self.due(holding, at: due)
        }
      }
    } catch {
      // Its claim runs out, and it is due again.
      log.warning(
        "a notification cannot be brought on; trying again",
        ["notification": "\(id)", "reason": "\(error)"])
    }
  }

  /// - Returns: when it goes on; nil when there is nothing more to do, or another node does it.
  private func step(
    _ id: NotificationID, of holding: Holding
  ) async throws(StoreError) -> UnixTime? {
    guard let record = try await store.notification(id) else {
      try await store.changeDue([.cancel(.push(id.home, id: id.name))], of: holding.partition)
      return nil
    }
    var life = record.life
    let request: NotificationRequest
    do throws(Refusal) {
      request = try NotificationRequest.read(record.request, now: nil)
    } catch {
      life.fail(
        "The request cannot be read any more: \(error)", reached: record.devices.reached,
        at: clock.wall)
      return try await keep(life, after: record.life, of: id, holding)
    }
    switch life.wake(at: clock.wall, rules: settings.notifications) {
    case .rest: return try await keep(life, after: record.life, of: id, holding)
    case .close:
      try await moveCursor(request, life, record.devices)
      life.closed(reached: record.devices.reached, at: clock.wall)
      return try await keep(life, after: record.life, of: id, holding)
    case .fetch:
      guard try await fetch(request, &life) else { return nil }
      return try await keep(life, after: record.life, of: id, holding)
    case .send:
      guard try await keep(life, after: record.life, of: id, holding) != nil else { return nil }
      return try await send(request, life, of: id, holding)
    }
  }

  /// Stores a step.
  ///
  /// - Returns: when it goes on; nil if it is over or no longer ours to take on.
  private func keep(
    _ life: NotificationLife, after before: NotificationLife, of id: NotificationID,
    _ holding: Holding
  ) async throws(StoreError) -> UnixTime? {
    let outcome = try await store.changeNotification(
      NotificationChange(id, from: before, to: life), owner: holding.ownership, at: clock.wall)
    switch outcome {
    case .changed:
      if life.phase.isOver, !before.phase.isOver { noteEnd(of: id, life) }
      return life.due
    case .conflict, .unknown: return nil
    case .fenced(let current):
      await fenced(holding, current: current)
      return nil
    }
  }

  private func noteEnd(of id: NotificationID, _ life: NotificationLife) {
    desk.counts.over[life.phase, default: 0] += 1
    guard life.phase == .failed || life.phase == .expired else { return }
    log.warning(
      "a notification reached nobody",
      ["notification": "\(id)", "state": life.phase.rawValue, "reason": life.problem ?? ""])
  }

  /// - Returns: false when it has to wait until others have been fetched.
  private func fetch(
    _ request: NotificationRequest, _ life: inout NotificationLife
  ) async throws(StoreError) -> Bool {
    guard let source = request.source, desk.beginFetch() else { return false }
    defer { desk.endFetch() }
    let cursor = try await store.sourceCursor(SHA256Text.of(Array(source.name.utf8)))
    do throws(ContentFetcher.Failure) {
      let content = try await fetcher.fetch(
        source, after: cursor, until: life.endOfSlip(settings.notifications))
      life.fetched(content, whenEmpty: source.whenEmpty, at: clock.wall)
    } catch {
      // Cut off, and fetched anew by the next owner.
      guard !isDraining else { return false }
      log.warning(
        "a notification's content cannot be fetched now",
        ["host": source.url.host, "reason": error.reason])
      life.fetchFailed(error.reason, at: clock.wall, rules: settings.notifications)
    }
    return true
  }

  /// - Parameter life: as it is stored.
  private func send(
    _ request: NotificationRequest, _ life: NotificationLife, of id: NotificationID,
    _ holding: Holding
  ) async throws(StoreError) -> UnixTime? {
    var next = life
    let round = NotificationRound(
      id: id, request: request, life: life, holding: holding, owner: self)
    let outcome = try await round.run()
    if case .stopped = outcome { return nil }
    guard let devices = try await store.notification(id)?.devices else { return nil }
    try await moveCursor(request, life, devices)
    switch outcome {
    case .stopped: return nil
    case .impossible(let reason):
      next.fail(reason, reached: devices.reached, at: clock.wall)
    case .expired: next.closed(reached: devices.reached, at: clock.wall)
    case .tried(let retryAfter, let reason, let unsure):
      next.tried(
        reached: devices.reached,
        left: devices.waiting
          + (request.mayBeRepeated ? min(unsure, devices.unconfirmedOnce) : 0),
        retryAfter: retryAfter, reason: reason, looksAgain: request.recipient.mayGrow,
        at: clock.wall, rules: settings.notifications)
    }
    return try await keep(next, after: life, of: id, holding)
  }

  /// What somebody was told is not fetched again; only then, so that what nobody was told is.
  private func moveCursor(
    _ request: NotificationRequest, _ life: NotificationLife, _ devices: DeviceCounts
  ) async throws(StoreError) {
    guard devices.accepted > 0, !life.usesFallback, let source = request.source,
      let content = life.content
    else { return }
    try await store.moveSourceCursor(
      SHA256Text.of(Array(source.name.utf8)), from: content.from, to: content.to)
  }
}
