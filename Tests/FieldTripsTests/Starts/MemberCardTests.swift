import Clocks
import FieldTrips
import Testing

@Suite struct `A member's card` {
  let rules = StartRules()
  let hour = Duration.seconds(3_600)

  let end = noon + .seconds(24 * 3_600)

  private func verdict(_ card: MemberCard, _ now: UnixTime) -> StartVerdict {
    card.verdict(at: now, until: end, rules: rules)
  }

  @Test func `is started once, however often it is asked for`() {
    var card = MemberCard()
    #expect(verdict(card, noon) == .start)
    card.starting(at: noon)
    // Nothing was heard of it, and yet it may be there: no other is started beside it.
    let renewal = noon + hour * 8 - .seconds(1_800)
    #expect(verdict(card, noon + hour) == .wait(until: renewal, .unconfirmed))
    card.confirmed(at: noon + .seconds(5))
    #expect(card.state == .running(since: noon))
    #expect(verdict(card, noon + hour) == .wait(until: renewal, .hasCard))
  }

  @Test func `is given up after three starts that nobody confirmed`() {
    let end = noon + hour * 200
    var card = MemberCard()
    var now = noon
    var starts = 0
    for _ in 0..<1_000 {
      if card.verdict(at: now, until: end, rules: rules) == .start {
        card.starting(at: now)
        starts += 1
      }
      now = now + .seconds(300)
    }
    #expect(starts == 3)
    #expect(card.verdict(at: now, until: end, rules: rules) == .never(.givenUp))
    // It was only late: everything is well again.
    card.confirmed(at: now)
    #expect(card.unconfirmed == 0)
  }

  @Test func `never comes back after it was swiped away, unless in the app`() {
    var card = MemberCard(state: .running(since: noon))
    card.dismissed()
    card.lastWithTokenEnded()
    card.confirmed(at: noon)
    #expect(verdict(card, noon + hour) == .never(.dismissed))
    card.startedInApp(at: noon + hour)
    #expect(card.state == .running(since: noon + hour))
  }

  @Test func `is followed by a new one before the system ends it, if the trip goes on`() {
    var card = MemberCard(state: .running(since: noon), lastStart: noon)
    let due = noon + .seconds(27_000)
    #expect(verdict(card, due - .seconds(1)) == .wait(until: due, .hasCard))
    #expect(verdict(card, due) == .start)
    #expect(card.verdict(at: due, until: noon + hour * 8, rules: rules) == .never(.hasCard))
    // Until the new one is there, the old one counts; a refusal leaves it as it was.
    card.starting(at: due)
    card.startRefused(at: due)
    #expect(card.state == .running(since: noon))
    #expect(verdict(card, due + .seconds(30)) == .start)
    card.starting(at: due + .seconds(30))
    #expect(card.confirmed(at: due + .seconds(40)) == noon)
    #expect(card.state == .running(since: due + .seconds(30)))
    // The old one dies later, and nobody says which of the two it was.
    card.unnamedEnded(at: noon + hour * 11)
    #expect(card.state == .running(since: due + .seconds(30)))
    card.unnamedEnded(at: noon + hour * 13)
    #expect(card.state == .none)
  }

  @Test func `was not closed by the person where its app says that it ended`() {
    var card = MemberCard(state: .closed, earlierSince: noon)
    card.unnamedEnded(at: noon + hour)
    #expect(card.state == .none && card.wasThere)
    var dismissed = MemberCard(state: .dismissed)
    dismissed.unnamedEnded(at: noon + hour)
    #expect(dismissed.state == .dismissed)
  }

  @Test func `was there though its channel is lost`() {
    var card = MemberCard(state: .running(since: noon))
    card.channelLost()
    #expect(card.state == .none && card.wasThere)
    var none = MemberCard()
    none.channelLost()
    #expect(!none.wasThere)
  }

  @Test func `is not started twice because the one before it dies first`() {
    var card = MemberCard(state: .running(since: noon))
    let renewal = noon + rules.renewalAge
    card.starting(at: renewal)
    card.lastWithTokenEnded()
    #expect(verdict(card, renewal + hour) == .wait(until: renewal + rules.renewalAge, .unconfirmed))
    #expect(card.confirmed(at: renewal + hour) == nil, "there is nothing left to end")
  }

  @Test func `a refusal is certain, and does not count as a start`() {
    var card = MemberCard()
    card.starting(at: noon)
    card.startRefused(at: noon - .seconds(1))
    #expect(card.state == .asked(at: noon, following: nil), "an earlier one's refusal came late")
    card.startRefused(at: noon)
    #expect(card.state == .none && card.unconfirmed == 0)
    #expect(verdict(card, noon + .seconds(1)) == .start)
  }

  @Test func `comes back half an hour after its start at the earliest`() {
    var card = MemberCard()
    card.starting(at: noon)
    card.confirmed(at: noon + .seconds(5))
    card.lastWithTokenEnded()
    let next = noon + .seconds(1_800)
    #expect(verdict(card, noon + .seconds(60)) == .wait(until: next, .pausing))
    #expect(verdict(card, next) == .start)
  }

  @Test func `waits while the device's budget is spent`() {
    var spent = StartBudget(starts: (0..<3).map { noon + .seconds($0 * 60) })
    let now = noon + .seconds(180)
    #expect(spent.nextStart(at: now, rules: rules) == noon + hour)
    // One that came to nothing is given back.
    spent.refund(noon + .seconds(60))
    #expect(spent.nextStart(at: now, rules: rules) == now)
  }

  /// Thirty wishes for starts in an hour, over six trips, for days.
  @Test(arguments: 0..<50 as Range<UInt64>)
  func `no device gets more starts than the rules allow`(seed: UInt64) {
    var dice = TripDice(seed: seed)
    var cards = Array(repeating: MemberCard(), count: 6)
    var budget = StartBudget()
    var sent: [UnixTime] = []
    var now = noon
    for _ in 0..<3_000 {
      now = now + .seconds(dice.roll(1..<240))
      let index = dice.roll(0..<cards.count)
      switch dice.roll(0..<8) {
      case 0: cards[index].confirmed(at: now)
      case 1: cards[index].lastWithTokenEnded()
      case 2 where dice.happens(oneIn: 30): cards[index].dismissed()
      case 3: if let last = cards[index].lastStart { cards[index].startRefused(at: last) }
      default:
        guard verdict(cards[index], now) == .start,
          budget.nextStart(at: now, rules: rules) <= now
        else { continue }
        #expect(cards[index].state != .dismissed)
        cards[index].starting(at: now)
        budget.count(at: now)
        sent.append(now)
      }
    }
    for (index, time) in sent.enumerated() {
      #expect(sent[index...].count { $0 < time + hour } <= 3)
      #expect(sent[index...].count { $0 < time + hour * 24 } <= 8)
    }
    #expect(!sent.isEmpty)
  }
}

@Suite struct `The agenda of starts` {
  @Test func `has one pass after the other, and forgets no wish`() throws {
    let (anna, bela) = (try MemberID("anna"), try MemberID("bela"))
    var agenda = StartAgenda()
    agenda.want([anna])
    var begins = agenda.begin()
    #expect(begins)
    var pass = agenda.next()
    #expect(pass == .all, "who knows not when all are due looks at all")
    #expect(!agenda.isOverAll)
    agenda.allBegin(until: noon)
    #expect(agenda.isOverAll, "what falls due meanwhile begins no other pass")
    agenda.want([bela])
    agenda.want([anna])
    begins = agenda.begin()
    #expect(!begins, "somebody is at it")
    let due = agenda.allDone(next: noon + .seconds(9_000))
    #expect(due == noon + .seconds(9_000) && !agenda.isOverAll)
    pass = agenda.next()
    #expect(pass == .some([anna, bela]))
    agenda.want(nil)
    pass = agenda.next()
    #expect(pass == .all)
    agenda.allBegin(until: noon)
    pass = agenda.next()
    #expect(pass == nil && !agenda.isOverAll, "one that broke off is over too")
    begins = agenda.begin()
    #expect(begins)
  }

  @Test func `keeps the earlier time that was asked for while all were looked at`() {
    var agenda = StartAgenda()
    agenda.allBegin(until: noon + .seconds(60))
    let isEarlier = agenda.look(at: noon + .seconds(30))
    #expect(isEarlier)
    let isEarlierToo = agenda.look(at: noon + .seconds(90))
    #expect(!isEarlierToo)
    var due = agenda.allDone(next: noon + .seconds(27_000))
    #expect(due == noon + .seconds(30))
    #expect(agenda.dueAt == noon + .seconds(30))
    // What was asked for before a pass is settled by it.
    agenda.allBegin(until: noon + .seconds(90))
    due = agenda.allDone(next: noon + .seconds(27_000))
    #expect(due == noon + .seconds(27_000))
  }
}
