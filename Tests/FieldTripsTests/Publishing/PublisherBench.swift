import Clocks
import FieldTrips

/// A publisher with a driver of no latency: every request is accepted at once.
struct PublisherBench {
  struct Broadcast: Equatable {
    let second: Int
    let priority: Int
    let revision: Int64
    let timestamp: Int64
    let levelAfter: Double
  }

  /// The date of the virtual clock's origin.
  static let epoch = UnixTime(wholeSeconds: 1_700_000_000)

  private(set) var publisher: ChannelPublisher
  private(set) var now = Moment.origin
  private(set) var broadcasts: [Broadcast] = []
  private var revision: Int64 = 0
  private var dice = PolicyDice(seed: 1)

  /// - Parameter level: tokens at the origin.
  init(policy: PublishingPolicy, level: Double) {
    let refill = 3_600 / policy.budgetPerHour
    let durable = ChannelPublisher.Durable(
      revision: .initial, publishedRevision: .initial, lastTimestampSeconds: 0,
      anchor: PublisherBench.epoch - .nanoseconds(Int64(level * refill * 1e9)), ratePerHour: nil)
    publisher = ChannelPublisher(
      policy: policy, restoring: durable, at: .origin, wall: PublisherBench.epoch)
  }

  var wall: UnixTime { PublisherBench.epoch + (now - .origin) }
  var decision: ChannelPublisher.Decision { publisher.plan(at: now, wall: wall) }

  mutating func advance(to seconds: Double) { now = Moment(seconds: seconds) }

  mutating func change(isSignificant: Bool = false) {
    revision += 1
    publisher.changed(to: Revision(revision), at: now, isSignificant: isSignificant)
  }

  mutating func end() { publisher.end(giveUpAt: now + .seconds(14_400)) }

  /// Carries out all that is due now.
  mutating func sendIfDue() {
    while let reservation = publisher.beginSend(at: now, wall: wall) {
      publisher.sent(
        reservation.id, revision: Revision(revision),
        timestampSeconds: reservation.proposedTimestampSeconds)
      broadcasts.append(
        Broadcast(
          second: Int(now.seconds), priority: reservation.rank.priority, revision: revision,
          timestamp: reservation.proposedTimestampSeconds,
          levelAfter: publisher.bucket.level(at: now)))
      _ = publisher.answered(reservation.id, .accepted, at: now, using: &dice)
    }
  }

  /// Follows the publisher's own timer until `seconds`.
  mutating func run(until seconds: Double) {
    let end = Moment(seconds: seconds)
    while true {
      sendIfDue()
      guard case .wake(let moment) = decision, moment <= end else { break }
      now = moment
    }
    now = end
  }
}
