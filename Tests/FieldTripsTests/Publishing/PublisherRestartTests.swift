import Clocks
import FieldTrips
import Testing

@Suite struct `A publisher that another owner left` {
  private let now = Moment(seconds: 5_000)
  private let wall = PublisherBench.epoch

  private func restored(
    revision: Int64 = 5, published: Int64 = 5, timestamp: Int64 = 0, tokens: Double? = nil,
    rate: Double? = nil
  ) -> ChannelPublisher {
    var policy = PublishingPolicy()
    policy.isTailOn = false
    return ChannelPublisher(
      policy: policy,
      restoring: ChannelPublisher.Durable(
        revision: Revision(revision), publishedRevision: Revision(published),
        lastTimestampSeconds: timestamp,
        anchor: tokens.map { wall - .nanoseconds(Int64($0 * 60e9)) }, ratePerHour: rate),
      at: now, wall: wall)
  }

  @Test func `sends what is unpublished as soon as a token is there`() {
    let publisher = restored(published: 2, tokens: 1)
    #expect(publisher.plan(at: now, wall: wall) == .send(.ordinary))
    #expect(publisher.backlog.count == 3)
    let poor = restored(published: 2, tokens: 0.5)
    #expect(poor.plan(at: now, wall: wall) == .wake(at: now + .seconds(30)))
  }

  @Test func `is idle when everything was published`() {
    #expect(restored().plan(at: now, wall: wall) == .idle)
    // A published revision ahead of the state would be a lost commit; it must not underflow.
    #expect(restored(published: 9).plan(at: now, wall: wall) == .idle)
  }

  @Test func `assumes one token where it knows nothing but that something was sent`() {
    let publisher = restored(timestamp: wall.wholeSeconds - 100)
    #expect(abs(publisher.bucket.level(at: now) - 1) < 1e-9)
  }

  @Test func `begins with a full bucket, and its first state costs none of it`() throws {
    var publisher = restored(revision: 1, published: 0)
    #expect(publisher.bucket.level(at: now) == 10)
    #expect(publisher.backlog.isEmpty)
    #expect(publisher.plan(at: now, wall: wall) == .send(.tail))
    let begun = publisher.beginSend(at: now, wall: wall)
    let reservation = try #require(begun)
    publisher.sent(reservation.id, revision: .first, timestampSeconds: wall.wholeSeconds)
    var dice = PolicyDice(seed: 1)
    _ = publisher.answered(reservation.id, .accepted, at: now, using: &dice)
    #expect(publisher.bucket.level(at: now) == 10)
    #expect(publisher.plan(at: now, wall: wall) == .idle)
  }

  @Test func `counts only the changes to a first state that nobody was sent`() {
    let publisher = restored(revision: 4, published: 0)
    #expect(publisher.backlog.count == 3)
    #expect(publisher.plan(at: now, wall: wall) == .send(.ordinary))
  }

  @Test func `grants a full bucket at most, and imposes the overdraft at most`() {
    #expect(restored(tokens: 100_000).bucket.level(at: now) == 10)
    #expect(abs(restored(tokens: -100_000).bucket.level(at: now) + 5) < 1e-9)
    #expect(abs(restored(tokens: 3.5).bucket.level(at: now) - 3.5) < 1e-9)
  }

  @Test func `keeps the adapted rate within its bounds`() {
    #expect(restored(rate: 30).ratePerHour == 30)
    #expect(restored(rate: 30).bucket.refillInterval == .seconds(120))
    #expect(restored(rate: 1).ratePerHour == 12)
    #expect(restored(rate: 500).ratePerHour == 60)
  }

  @Test func `takes a newer second than the last owner did`() throws {
    var publisher = restored(published: 2, timestamp: wall.wholeSeconds, tokens: 4)
    #expect(publisher.plan(at: now, wall: wall) == .wake(at: now + .seconds(1)))
    let later = now + .seconds(1)
    let begun = publisher.beginSend(at: later, wall: wall + .seconds(1))
    let reservation = try #require(begun)
    #expect(reservation.proposedTimestampSeconds == wall.wholeSeconds + 1)
    // One of its four tokens and a sixtieth is spent.
    let anchorAge = (wall + .seconds(1) - reservation.anchor).inSeconds
    #expect(abs(anchorAge - 181) < 1e-6)
  }

  @Test func `paces itself by the monotonic clock where the wall clock was set back`() throws {
    let ahead = wall.wholeSeconds + 1_000
    var publisher = restored(published: 2, timestamp: ahead, tokens: 4)
    #expect(publisher.timestampLead(wall: wall) > publisher.policy.skewAlarm)
    #expect(publisher.plan(at: now, wall: wall) == .wake(at: now + .seconds(1)))
    let begun = publisher.beginSend(at: now + .seconds(1), wall: wall)
    let reservation = try #require(begun)
    #expect(reservation.proposedTimestampSeconds == ahead + 1)
  }

  @Test func `stops before phones would drop its timestamps`() {
    let publisher = restored(published: 2, timestamp: wall.wholeSeconds + 25_201, tokens: 4)
    #expect(
      publisher.plan(at: now, wall: wall) == .stopped(.timestampsAhead(seconds: 25_201)))
    #expect(
      publisher.plan(at: now + .seconds(1), wall: wall + .seconds(2)) == .send(.ordinary)
        || publisher.plan(at: now + .seconds(2), wall: wall + .seconds(2)) == .send(.ordinary))
  }

  @Test func `may be told that something was significant`() {
    var publisher = restored(published: 2, tokens: -4)
    publisher.markUrgent()
    #expect(publisher.plan(at: now, wall: wall) == .send(.significant))
    var clean = restored(tokens: -4)
    clean.markUrgent()
    #expect(clean.plan(at: now, wall: wall) == .idle)
  }
}

@Suite struct `A publisher's size` {
  @Test func `is constant: plain values, and nothing on the heap`() {
    #expect(_isPOD(ChannelPublisher.self))
    #expect(MemoryLayout<ChannelPublisher>.size <= 1_024)
  }
}
