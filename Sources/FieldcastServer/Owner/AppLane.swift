internal import Clocks
internal import FieldTrips
internal import Transport

/// The way of one app's broadcasts to APNs: a queue in the order of need, and the app's rate.
///
/// `@unchecked Sendable` is right because only the owner touches its state, on the loop; others
/// hand it to the owner and use `gateway`.
final class AppLane: @unchecked Sendable {
  let gateway: AppGateway
  private var queue = SendQueue<TripID>()
  private var rate: AppRate<TripID>
  /// When the rate allows the next request, as it said last; nil when it allows one now.
  private var paused: Moment?
  /// Requests that the rate has granted and nobody made: who was next had nothing to send.
  private var spareTurns = 0
  /// Wakes the lane for its next turn.
  var timer: LoopTimer?

  init(gateway: AppGateway, rate: AppRateSettings, clock: ServiceClock) {
    self.gateway = gateway
    self.rate = AppRate(settings: rate, at: clock.now)
  }

  func enqueue(_ trip: TripID, rank: SendRank, backlog: Backlog, at now: Moment) {
    queue.enqueue(trip, rank, backlog, at: now)
  }

  /// The next trip whose turn it is, if the app's rate allows a request now.
  ///
  /// Say ``giveBack()`` if it makes none.
  func next(at now: Moment) -> TripID? {
    guard !queue.isEmpty else { return nil }
    if spareTurns > 0 {
      spareTurns -= 1
    } else {
      paused = rate.take(at: now)
      guard paused == nil else { return nil }
    }
    return queue.next(at: now)?.channel
  }

  func giveBack() { spareTurns += 1 }

  /// When to ask again; nil when nobody waits.
  var nextTurn: Moment? { queue.isEmpty ? nil : paused }

  func cancelTimer(on loop: EventLoop) {
    if let timer { loop.cancel(timer) }
    timer = nil
  }

  /// APNs said 429 or 5xx to this trip's broadcast.
  func slowed(_ trip: TripID, at now: Moment) { _ = rate.slowed(trip, at: now) }
}
