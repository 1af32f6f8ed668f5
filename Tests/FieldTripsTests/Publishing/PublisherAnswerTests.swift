import Clocks
import FieldTrips
import Testing

/// A publisher, its clock and the shorthand to follow one request at a time.
private final class Subject {
  var publisher: ChannelPublisher
  var now = Moment.origin
  var revision: Int64 = 0
  var dice = PolicyDice(seed: 3)

  init(_ change: (inout PublishingPolicy) -> Void = { _ in }) {
    var policy = PublishingPolicy()
    policy.isTailOn = false
    change(&policy)
    publisher = ChannelPublisher(policy: policy, at: .origin)
  }

  var wall: UnixTime { PublisherBench.epoch + (now - .origin) }
  var decision: ChannelPublisher.Decision { publisher.plan(at: now, wall: wall) }
  var level: Double { publisher.bucket.level(at: now) }

  func change(isSignificant: Bool = false) {
    revision += 1
    publisher.changed(to: Revision(revision), at: now, isSignificant: isSignificant)
  }

  func wait(_ seconds: Double) { now += .nanoseconds(Int64(seconds * 1e9)) }

  func send() throws -> ChannelPublisher.Reservation {
    let begun = publisher.beginSend(at: now, wall: wall)
    let reservation = try #require(begun)
    publisher.sent(
      reservation.id, revision: Revision(revision),
      timestampSeconds: reservation.proposedTimestampSeconds)
    return reservation
  }

  @discardableResult
  func answer(
    _ reservation: ChannelPublisher.Reservation, _ outcome: BroadcastOutcome
  ) -> ChannelPublisher.Aftermath {
    publisher.answered(reservation.id, outcome, at: now, using: &dice)
  }

  /// Goes to the moment that the publisher waits for, and sends then.
  func sendWhenDue() throws -> ChannelPublisher.Reservation {
    if case .wake(let moment) = decision { now = moment }
    return try send()
  }
}

@Suite struct `A publisher that is answered` {
  @Test func `spends a token on what was accepted and raises the rate`() throws {
    let subject = Subject { $0.rateUp = 5 }
    subject.change()
    subject.answer(try subject.send(), .throttled())
    #expect(subject.publisher.ratePerHour == 42)
    let aftermath = subject.answer(try subject.sendWhenDue(), .accepted)
    #expect(aftermath.publishedRevision == Revision(1))
    #expect(aftermath.ratePerHour == 47)
    #expect(subject.level < 0.01)
    #expect(subject.publisher.isClean)
    #expect(subject.decision == .idle)
  }

  @Test(
    arguments: [
      .notSent(), .notReserved, .providerTokenThrottled(), .channelGone, .refused,
    ] as [BroadcastOutcome])
  func `gets the token back when it certainly was not published`(_ outcome: BroadcastOutcome) throws
  {
    let subject = Subject()
    subject.change()
    let reservation = try subject.send()
    #expect(abs(subject.level - 9) < 1e-9)
    subject.answer(reservation, outcome)
    #expect(abs(subject.level - 10) < 1e-9)
    #expect(subject.publisher.backlog.count == 1)
    #expect(subject.publisher.ratePerHour == 60)
  }

  @Test func `takes an unknown outcome for spent and for unpublished`() throws {
    let subject = Subject()
    subject.change()
    let aftermath = subject.answer(try subject.send(), .unknown)
    #expect(abs(subject.level - 9) < 1e-9)
    #expect(aftermath.publishedRevision == .initial)
    #expect(subject.publisher.backlog.count == 1)
    let again = try subject.sendWhenDue()
    #expect(again.proposedTimestampSeconds > PublisherBench.epoch.wholeSeconds)
    #expect(subject.answer(again, .accepted).publishedRevision == Revision(1))
  }

  @Test func `restores the wait of what was lost, and adds what came since`() throws {
    let subject = Subject()
    subject.change()
    subject.wait(2)
    let reservation = try subject.send()
    subject.wait(3)
    subject.change()
    subject.change()
    subject.answer(reservation, .notSent())
    let backlog = subject.publisher.backlog
    #expect(backlog.count == 3)
    #expect(backlog.oldest == .origin)
    #expect(backlog.newest == Moment(seconds: 5))
    #expect(abs(backlog.noteSeconds(at: Moment(seconds: 10)) - (10 + 5 + 5)) < 1e-9)
  }

  @Test func `empties its bucket at a 429, lowers the rate and stays at the floor`() throws {
    let subject = Subject()
    var gaps: [Double] = []
    var last = subject.now
    subject.change()
    for _ in 0..<14 {
      let reservation = try subject.sendWhenDue()
      gaps.append((subject.now - last).inSeconds)
      last = subject.now
      subject.answer(reservation, .throttled())
      #expect(subject.level <= 1e-9)
      #expect(subject.publisher.ratePerHour >= 12)
    }
    #expect(subject.publisher.ratePerHour == 12)
    // An empty bucket at 12 an hour has a token after 300 s.
    #expect(gaps.last.map { $0 >= 299 } == true)
    #expect(gaps.dropFirst().prefix(6).elementsEqual(gaps.dropFirst().prefix(6).sorted()))
    for _ in 0..<48 {
      subject.answer(try subject.sendWhenDue(), .accepted)
      subject.change()
    }
    #expect(subject.publisher.ratePerHour == 60)
    subject.answer(try subject.sendWhenDue(), .accepted)
    #expect(subject.publisher.ratePerHour == 60)
  }

  @Test func `counts several 429s within a minute once`() throws {
    let subject = Subject { $0.overdraft = 50 }
    for _ in 0..<4 {
      subject.change(isSignificant: true)
      subject.answer(try subject.sendWhenDue(), .throttled())
    }
    #expect(subject.publisher.ratePerHour == 42)
  }

  @Test func `backs off ever longer, up to the cap, and hurries when it matters`() throws {
    for (isSignificant, cap) in [(false, 60.0), (true, 10)] {
      var waits: [Double] = []
      for seed in 0..<40 as Range<UInt64> {
        let subject = Subject()
        subject.dice = PolicyDice(seed: seed)
        subject.change(isSignificant: isSignificant)
        for attempt in 1...8 {
          let reservation = try subject.sendWhenDue()
          let start = subject.now
          subject.answer(reservation, .notSent())
          guard case .wake(let moment) = subject.decision else {
            Issue.record("\(subject.decision)")
            return
          }
          let wait = (moment - start).inSeconds
          #expect(wait >= 1 && wait <= max(1, min(cap, Double(1 << attempt))) + 1e-9)
          if attempt == 8 { waits.append(wait) }
        }
      }
      #expect((waits.max() ?? 0) > cap * 0.8)
      #expect((waits.min() ?? 0) < cap * 0.3)
    }
  }

  @Test func `tries once a second while only the store is away, for however long`() throws {
    let subject = Subject()
    subject.change()
    for _ in 0..<40 {
      let reservation = try subject.sendWhenDue()
      let start = subject.now
      subject.answer(reservation, .notReserved)
      guard case .wake(let moment) = subject.decision else {
        Issue.record("\(subject.decision)")
        return
      }
      #expect((1...2).contains((moment - start).inSeconds))
    }
    #expect(abs(subject.level - 10) < 1e-9)
    // APNs' own failures begin with the shortest wait again.
    let reservation = try subject.sendWhenDue()
    let start = subject.now
    subject.answer(reservation, .notSent())
    if case .wake(let moment) = subject.decision {
      #expect((1...2).contains((moment - start).inSeconds))
    }
  }

  @Test func `waits at least as long as APNs asks`() throws {
    let subject = Subject()
    subject.change()
    subject.answer(try subject.send(), .notSent(retryAfter: .seconds(500)))
    #expect(subject.decision == .wake(at: Moment(seconds: 500)))
  }

  @Test func `tries a defect once a minute and says so`() throws {
    let subject = Subject()
    subject.change(isSignificant: true)
    #expect(subject.answer(try subject.send(), .refused).isDefect)
    #expect(subject.decision == .wake(at: Moment(seconds: 60)))
  }

  @Test func `stops at a channel that is gone until it has a new one`() throws {
    let subject = Subject()
    subject.change()
    #expect(subject.answer(try subject.send(), .channelGone).isChannelGone)
    #expect(subject.decision == .stopped(.channelGone))
    subject.change()
    #expect(subject.decision == .stopped(.channelGone))
    subject.wait(5)
    subject.publisher.channelReplaced()
    #expect(subject.answer(try subject.send(), .accepted).publishedRevision == Revision(2))
  }

  @Test(arguments: [[0, 1], [1, 0]], [BroadcastOutcome.accepted, .notSent(), .unknown])
  func `ends up the same whichever of two answers comes first`(
    _ order: [Int], _ first: BroadcastOutcome
  ) throws {
    let subject = Subject()
    subject.change()
    let ordinary = try subject.send()
    subject.wait(0.4)
    subject.change(isSignificant: true)
    #expect(subject.decision == .wake(at: Moment(seconds: 1)))
    subject.wait(0.6)
    let significant = try subject.send()
    #expect(significant.rank == .significant)
    subject.change(isSignificant: true)
    #expect(subject.decision == .idle)
    for index in order {
      let (reservation, outcome) = [(ordinary, first), (significant, .accepted)][index]
      let aftermath = subject.answer(reservation, outcome)
      if order == [1, 0] { #expect(aftermath.publishedRevision == Revision(2)) }
    }
    #expect(subject.publisher.publishedRevision == Revision(2))
    #expect(subject.publisher.backlog.count == 1)
    #expect(subject.publisher.backlog.oldest == Moment(seconds: 1))
  }

  @Test(arguments: [BroadcastOutcome.accepted, .unknown])
  func `sends what two requests read alike but once`(_ outcome: BroadcastOutcome) throws {
    let subject = Subject()
    subject.change()
    let first = subject.publisher.beginSend(at: subject.now, wall: subject.wall)
    let ordinary = try #require(first)
    subject.wait(1)
    subject.change(isSignificant: true)
    let other = subject.publisher.beginSend(at: subject.now, wall: subject.wall)
    let significant = try #require(other)
    let level = subject.level
    // The first one's reading took so long that it sees both changes.
    subject.publisher.sent(
      ordinary.id, revision: Revision(2),
      timestampSeconds: ordinary.proposedTimestampSeconds)
    #expect(subject.publisher.isSuperfluous(ordinary.id))
    subject.answer(ordinary, .superfluous)
    #expect(subject.level > level + 0.99)
    subject.publisher.sent(
      significant.id, revision: Revision(2),
      timestampSeconds: significant.proposedTimestampSeconds)
    #expect(!subject.publisher.isSuperfluous(significant.id))
    subject.answer(significant, outcome)
    // Nothing is lost with the one that was left out, its age neither.
    #expect(subject.publisher.backlog.count == (outcome == .accepted ? 0 : 2))
    if outcome == .unknown { #expect(subject.publisher.backlog.oldest == .origin) }
  }

  @Test func `takes up both lost requests, the older one's age included`() throws {
    let subject = Subject()
    subject.change()
    let ordinary = try subject.send()
    subject.wait(1)
    subject.change(isSignificant: true)
    let significant = try subject.send()
    subject.answer(ordinary, .notSent())
    // The significant one carries it, so nothing waits while it flies.
    #expect(subject.publisher.backlog.isEmpty)
    subject.answer(significant, .unknown)
    #expect(subject.publisher.backlog.count == 2)
    #expect(subject.publisher.backlog.oldest == .origin)
    #expect(subject.publisher.backlog.isUrgent)
  }

  @Test func `ignores an answer to what is not in flight`() throws {
    let subject = Subject()
    subject.change()
    let reservation = try subject.send()
    subject.answer(reservation, .accepted)
    let before = subject.level
    subject.answer(reservation, .notSent())
    #expect(subject.level == before)
    #expect(subject.publisher.isClean)
  }

  @Test func `does not send again what the read already carried`() throws {
    let subject = Subject()
    subject.change()
    let begun = subject.publisher.beginSend(at: subject.now, wall: subject.wall)
    let reservation = try #require(begun)
    subject.change()
    subject.publisher.sent(
      reservation.id, revision: Revision(3),
      timestampSeconds: reservation.proposedTimestampSeconds + 4)
    #expect(subject.publisher.backlog.isEmpty)
    // The store was ahead of us: this change is on its way already.
    subject.change()
    #expect(subject.publisher.backlog.isEmpty)
    subject.answer(reservation, .notSent())
    #expect(subject.publisher.backlog.count == 3)
    #expect(
      subject.publisher.lastTimestampSeconds == reservation.proposedTimestampSeconds + 4)
  }

  @Test func `pauses the tail at a 429, twice as long each time`() throws {
    let subject = Subject {
      $0.isTailOn = true
      $0.budgetPerHour = 1
      $0.rule.price = 50
      $0.overdraft = 0
    }
    for _ in 0..<2 {
      subject.change()
      subject.answer(try subject.sendWhenDue(), .accepted)
      subject.wait(1)
    }
    subject.change()
    for pause in [300, 600, 1_200] {
      subject.wait(20)
      let tail = try subject.send()
      #expect(tail.rank == .tail)
      let level = subject.level
      subject.answer(tail, .throttled())
      #expect(subject.level == level)
      #expect(subject.publisher.ratePerHour == 1)
      subject.wait(Double(pause) - 1)
      if case .send = subject.decision { Issue.record("sends during the pause") }
      subject.wait(1)
    }
  }
}

@Suite struct `A publisher that is asked for a refresh` {
  @Test func `sends at priority 5, also where tails are off, and spends nothing`() throws {
    let subject = Subject()
    subject.publisher.refresh()
    let refresh = try subject.send()
    #expect(refresh.rank == .tail)
    #expect(subject.level == 10)
    subject.answer(refresh, .accepted)
    #expect(subject.decision == .idle)
  }

  @Test(
    arguments: [.throttled(), .notSent(), .unknown, .refused] as [BroadcastOutcome])
  func `tries again where it was lost, a minute apart, until it is accepted`(
    _ outcome: BroadcastOutcome
  ) throws {
    let subject = Subject()
    subject.publisher.refresh()
    for _ in 0..<3 {
      let begun = subject.now
      subject.answer(try subject.send(), outcome)
      #expect(subject.decision == .wake(at: begun + .seconds(60)))
      subject.wait(60)
    }
    subject.answer(try subject.send(), .accepted)
    #expect(subject.decision == .idle)
    #expect(subject.level == 10)
  }

  @Test func `needs none where a change goes out instead`() throws {
    let subject = Subject()
    subject.publisher.refresh()
    subject.change()
    #expect(try subject.send().rank == .ordinary)
    #expect(subject.decision == .idle)
  }

  @Test func `refreshes a new channel at once, though the old one lost it`() throws {
    let subject = Subject()
    subject.publisher.refresh()
    subject.answer(try subject.send(), .channelGone)
    subject.wait(20)
    subject.publisher.channelReplaced()
    #expect(try subject.send().rank == .tail)
  }
}

@Suite struct `A publisher with little budget` {
  @Test func `borrows for significant changes, and then makes ordinary ones wait`() throws {
    let subject = Subject {
      $0.burst = 2
      $0.overdraft = 3
    }
    for _ in 0..<5 {
      subject.change(isSignificant: true)
      subject.answer(try subject.sendWhenDue(), .accepted)
    }
    #expect(subject.level < -2.9 && subject.level >= -3)
    subject.change(isSignificant: true)
    guard case .wake(let moment) = subject.decision else {
      Issue.record("\(subject.decision)")
      return
    }
    // Beyond the overdraft it waits for the next token only.
    #expect((moment - subject.now).inSeconds <= 60)
    subject.answer(try subject.sendWhenDue(), .accepted)
    subject.change()
    guard case .wake(let repaid) = subject.decision else {
      Issue.record("\(subject.decision)")
      return
    }
    #expect(abs((repaid - subject.now).inSeconds - 240) < 0.01)
  }

  @Test func `sends the end at once, whatever is owed`() throws {
    let subject = Subject {
      $0.burst = 2
      $0.overdraft = 0
    }
    for _ in 0..<2 {
      subject.change(isSignificant: true)
      subject.answer(try subject.sendWhenDue(), .accepted)
      subject.wait(1)
    }
    subject.change()
    subject.publisher.end(giveUpAt: subject.now + .seconds(40))
    var tries = 0
    while tries < 30, subject.now < Moment(seconds: 35) {
      let end = try subject.sendWhenDue()
      #expect(end.rank == .end)
      subject.answer(end, .throttled())
      tries += 1
    }
    #expect(tries >= 4)
  }

  @Test func `gives up the end when nobody can see it any more`() throws {
    let subject = Subject()
    subject.publisher.end(giveUpAt: Moment(seconds: 30))
    subject.answer(try subject.send(), .unknown)
    subject.wait(31)
    #expect(subject.decision == .idle)
    #expect(!subject.publisher.isEnded)
  }
}
