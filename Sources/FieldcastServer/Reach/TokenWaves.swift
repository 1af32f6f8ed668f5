internal import Clocks
internal import FieldTrips
internal import Transport

/// What is under way for a trip's members who are reached by token. A trip without such members
/// has none of this.
///
/// Like the channel it conflates: while a wave is going out, the newest state replaces what waits.
///
/// `@unchecked Sendable` is right because only the owner touches it, on its loop.
final class TokenWaves: @unchecked Sendable {
  private struct Waiter {
    let timestampSeconds: Int64
    let continuation: UnsafeContinuation<Bool, Never>
  }

  /// For all members; replaced by a newer one.
  private(set) var pending: CardUpdate?
  var isRunning = false
  /// The newest revision that a wave was begun for.
  private(set) var begunRevision = Revision.initial
  /// The newest one that a wave was begun for though the channel was refused it: what the channel is
  /// sent again is not news to tokens.
  var revisionAhead: Revision?
  /// The timestamp of the end, once a wave was begun with it.
  private(set) var endSeconds: Int64?
  /// The newest timestamp that everyone was sent the state of.
  private var finishedSeconds: Int64 = 0
  /// Who is to get the newest state, though everyone else has it.
  var owed: Set<MemberID> = []
  var timer: LoopTimer?
  /// Times in a row that something was owed after a wave.
  var failures = 0
  private var waiters: [Waiter] = []
  /// What cards may be sent at priority 10 whose persons do not allow frequent updates; one for all
  /// of them, since they are sent the same.
  private var frugal: TokenBucket?

  /// Notes what is to go out, unless something newer waits.
  func add(_ update: CardUpdate) {
    begunRevision = max(begunRevision, update.state.revision)
    if update.isEnd { endSeconds = update.timestampSeconds }
    guard let pending else {
      self.pending = update
      return
    }
    var newest = pending.timestampSeconds > update.timestampSeconds ? pending : update
    // What was to be heard with a state that is replaced is heard with the one that replaces it.
    newest.alert = newest.alert ?? pending.alert ?? update.alert
    newest.priority = max(pending.priority, update.priority)
    self.pending = newest
  }

  func takePending() -> CardUpdate? {
    defer { pending = nil }
    return pending
  }

  /// The priority of an update for those who do not allow frequent ones. An end goes at 10 always.
  func frugalPriority(of update: CardUpdate, perHour: Int, at now: Moment) -> Int {
    guard update.priority == 10, !update.isEnd else { return update.priority }
    var bucket =
      frugal
      ?? TokenBucket(
        refillInterval: .seconds(3_600) / perHour, capacity: max(2, perHour / 4),
        level: Double(max(2, perHour / 4)), at: now)
    defer { frugal = bucket }
    guard bucket.ready() <= now else { return 5 }
    bucket.spend(at: now)
    return 10
  }

  /// - Returns: whether everyone was sent this state, or a newer one.
  func wait(for timestampSeconds: Int64) async -> Bool {
    if timestampSeconds <= finishedSeconds { return true }
    return await withUnsafeContinuation {
      waiters.append(Waiter(timestampSeconds: timestampSeconds, continuation: $0))
    }
  }

  /// Everyone was sent the state of this time.
  func finished(_ timestampSeconds: Int64) {
    finishedSeconds = max(finishedSeconds, timestampSeconds)
    let done = waiters.filter { $0.timestampSeconds <= timestampSeconds }
    waiters.removeAll { $0.timestampSeconds <= timestampSeconds }
    for waiter in done { waiter.continuation.resume(returning: true) }
  }

  /// Nothing more is sent from here.
  func givenUp() {
    pending = nil
    let left = waiters
    waiters = []
    for waiter in left { waiter.continuation.resume(returning: false) }
  }
}
