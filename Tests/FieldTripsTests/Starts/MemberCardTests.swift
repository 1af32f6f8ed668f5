import Clocks
import FieldTrips
import Testing

@Suite struct `A member's card` {
  let rules = StartRules()
  let budget = StartBudget()
  let hour = Duration.seconds(3_600)

  @Test func `is started once, however often it is asked for`() {
    var card = MemberCard()
    #expect(card.verdict(at: noon, budget: budget, rules: rules) == .start)
    card.starting(at: noon, rules: rules)
    #expect(
      card.verdict(at: noon + .seconds(1), budget: budget, rules: rules)
        == .wait(until: noon + .seconds(120), .unconfirmed))
    card.confirmed(at: noon + .seconds(5))
    #expect(card.state == .running(since: noon))
    #expect(
      card.verdict(at: noon + hour, budget: budget, rules: rules)
        == .wait(until: noon + hour * 8 - .seconds(1_800), .hasCard))
  }

  @Test func `is given up after three starts that nobody confirmed`() {
    var card = MemberCard()
    var now = noon
    var starts = 0
    for _ in 0..<100 {
      if card.verdict(at: now, budget: budget, rules: rules) == .start {
        card.starting(at: now, rules: rules)
        starts += 1
      }
      now = now + .seconds(300)
    }
    #expect(starts == 3)
    #expect(card.verdict(at: now, budget: budget, rules: rules) == .never(.givenUp))
    // It was only late: everything is well again.
    card.confirmed(at: now)
    #expect(card.unconfirmed == 0)
  }

  @Test func `never comes back after it was swiped away, unless in the app`() {
    var card = MemberCard(state: .running(since: noon))
    card.dismissed()
    card.ended()
    card.confirmed(at: noon)
    #expect(card.verdict(at: noon + hour, budget: budget, rules: rules) == .never(.dismissed))
    card.startedInApp(at: noon + hour)
    #expect(card.state == .running(since: noon + hour))
  }

  @Test func `is renewed before the system ends it`() {
    let card = MemberCard(state: .running(since: noon), lastStart: noon)
    let due = noon + .seconds(27_000)
    #expect(
      card.verdict(at: due - .seconds(1), budget: budget, rules: rules)
        == .wait(until: due, .hasCard))
    #expect(card.verdict(at: due, budget: budget, rules: rules) == .start)
    #expect(card.mayBeVisible(at: noon + hour * 11) && !card.mayBeVisible(at: noon + hour * 12))
  }

  @Test func `a refusal is certain, and does not count as a start that was missed`() {
    var card = MemberCard()
    card.starting(at: noon, rules: rules)
    card.startRefused()
    #expect(card.state == .none && card.unconfirmed == 0)
    #expect(
      card.verdict(at: noon + .seconds(60), budget: budget, rules: rules)
        == .wait(until: noon + .seconds(1_800), .unconfirmed))
  }

  @Test func `waits while the device's budget is spent`() {
    let spent = StartBudget(starts: (0..<3).map { noon + .seconds($0 * 60) })
    #expect(
      MemberCard().verdict(at: noon + .seconds(180), budget: spent, rules: rules)
        == .wait(until: noon + hour, .budgetSpent))
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
      case 1: cards[index].ended()
      case 2 where dice.happens(oneIn: 30): cards[index].dismissed()
      case 3: cards[index].startRefused()
      default:
        let verdict = cards[index].verdict(at: now, budget: budget, rules: rules)
        guard verdict == .start else { continue }
        #expect(cards[index].state != .dismissed)
        cards[index].starting(at: now, rules: rules)
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
