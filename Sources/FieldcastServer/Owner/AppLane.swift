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
  /// Set when a turn is not due yet: the rate says when, and the turn stays ours.
  private var paused: Moment?
  /// Wakes the lane for its next turn.
  var timer: LoopTimer?

  init(gateway: AppGateway, rate: AppRate<TripID>.Settings, clock: ServiceClock) {
    self.gateway = gateway
    self.rate = AppRate(settings: rate, at: clock.now)
  }

  func enqueue(_ trip: TripID, rank: SendRank, backlog: Backlog, at now: Moment) {
    queue.enqueue(trip, rank, backlog, at: now)
  }

  /// The next trip whose turn it is, if the app's rate allows a request now.
  func next(at now: Moment) -> TripID? {
    guard !queue.isEmpty else { return nil }
    paused = rate.take(at: now)
    return paused == nil ? queue.next(at: now)?.channel : nil
  }

  /// When to ask again; nil when nobody waits.
  func nextTurn(at now: Moment) -> Moment? { queue.isEmpty ? nil : paused }

  /// APNs said 429 to this trip's broadcast.
  func throttled(_ trip: TripID, at now: Moment) { _ = rate.throttled(trip, at: now) }
}
