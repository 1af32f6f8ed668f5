import Clocks
import FieldTrips
import Testing

private let both: Set<AppID.Environment> = [.development, .production]

func pushToken(_ number: Int) throws -> PushToken {
  try PushToken(String(String(number + 0xABCD_0000, radix: 16)))
}

@Suite struct `A registry of tokens` {
  let one: PushToken
  let two: PushToken
  let card = RegisteredToken.Kind.update(activityID: "card")

  init() throws {
    one = try pushToken(1)
    two = try pushToken(2)
  }

  private func registry(_ tokens: PushToken..., at now: UnixTime = noon) -> TokenRegistry {
    var registry = TokenRegistry()
    for token in tokens {
      registry.register(.device, token, in: .development, osVersion: nil, at: now)
    }
    return registry
  }

  private func answer(
    _ answer: TokenAnswer, _ token: PushToken, _ registry: inout TokenRegistry,
    in environment: AppID.Environment = .development,
    served: Set<AppID.Environment> = [.development], isStorm: Bool = false
  ) -> TokenVerdict {
    registry.answered(
      answer, to: token, in: environment, served: served, isStorm: isStorm, at: noon)
  }

  @Test func `adds tokens, and renews one that is named again`() {
    var tokens = registry(one, two)
    tokens.register(
      .device, one, in: .development, osVersion: OSVersion(17, 4), at: noon + .seconds(60))
    #expect(tokens.tokens.map(\.token) == [one, two])
    #expect(tokens[one]?.firstSeen == noon)
    #expect(tokens[one]?.lastSeen == noon + .seconds(60))
    #expect(tokens[one]?.osVersion == OSVersion(17, 4))
    tokens.register(.device, one, in: .development, osVersion: nil, at: noon)
    #expect(tokens[one]?.lastSeen == noon + .seconds(60) && tokens[one]?.osVersion != nil)
  }

  @Test func `a rotated token supersedes that of its own card alone`() {
    var tokens = registry(one)
    let other = RegisteredToken.Kind.update(activityID: "other")
    tokens.register(card, one, in: .development, osVersion: nil, at: noon)
    tokens.register(other, one, in: .development, osVersion: nil, at: noon)
    tokens.register(card, two, in: .development, osVersion: nil, at: noon)
    #expect(tokens.tokens.map(\.kind) == [.device, other, card])
    #expect(tokens.cards.map(\.token).contains(two))
  }

  @Test func `a 410 strikes off only if it is later than the registration`() {
    var tokens = registry(one, two)
    #expect(answer(.dead(since: noon - .seconds(1)), one, &tokens) == .held)
    #expect(tokens[one] != nil && tokens.usable { _ in true }.map(\.token) == [two])
    tokens.register(.device, one, in: .development, osVersion: nil, at: noon)
    #expect(tokens[one]?.isUsable == true, "its app named it again")
    #expect(answer(.dead(since: noon + .seconds(1)), one, &tokens) == .retired)
    #expect(answer(.dead(since: nil), two, &tokens) == .retired)
    #expect(tokens.tokens.isEmpty)
    #expect(answer(.unknown, two, &tokens) == .gone)
  }

  @Test func `a 410 to what was sent before the app named the token again says nothing`() {
    var tokens = registry(one)
    tokens.register(.device, one, in: .development, osVersion: nil, at: noon + .seconds(9))
    let verdict = tokens.answered(
      .dead(since: noon + .seconds(5)), to: one, namedAt: noon, in: .development,
      served: [.development], isStorm: false, at: noon + .seconds(10))
    #expect(verdict == .kept && tokens[one]?.isUsable == true)
  }

  @Test func `belongs to the app that named it, and to the first one where nobody said`() throws {
    let (first, other) = (
      TokenApp("a.first", first: "a.first"), TokenApp("b.other", first: "a.first")
    )
    var tokens = registry(one)
    tokens.register(.device, two, of: "b.other", in: .development, osVersion: nil, at: noon)
    #expect(tokens.usable(.device, of: first).map(\.token) == [one])
    #expect(tokens.usable(.device, of: other).map(\.token) == [two])
    // Who names it and does not say moves it nowhere; who says does.
    tokens.register(.device, two, in: .development, osVersion: nil, at: noon)
    #expect(tokens[two]?.bundleID == "b.other")
    tokens.register(.device, one, of: "b.other", in: .development, osVersion: nil, at: noon)
    #expect(tokens.usable(.device, of: first).isEmpty)
    // As it was stored before apps were told apart.
    let stored =
      #"{"tokens":[{"kind":"push-to-start","token":"abcd","environment":"production","#
      + #""first":1700000000000,"last":1700000000000}]}"#
    let person = Person(stored: Array(stored.utf8))
    #expect(person.tokens.tokens.count == 1)
    #expect(person.tokens.usable(.pushToStart, of: first).count == 1)
    #expect(person.tokens.usable(.pushToStart, of: other).isEmpty)
  }

  @Test func `an unknown token is tried once in the other environment, and remembered there`() {
    var tokens = registry(one)
    #expect(answer(.unknown, one, &tokens, served: both) == .moved(to: .production))
    #expect(answer(.accepted, one, &tokens, in: .production, served: both) == .kept)
    // An app that goes on naming the wrong one does not undo what APNs has shown.
    tokens.register(.device, one, in: .development, osVersion: nil, at: noon)
    #expect(tokens[one]?.environment == .production)
    var dead = registry(two)
    #expect(answer(.unknown, two, &dead, served: both) == .moved(to: .production))
    #expect(answer(.unknown, two, &dead, in: .production, served: both) == .retired)
  }

  @Test func `a token that was accepted before, or fails with many, is quarantined`() {
    var tokens = registry(one, two)
    #expect(answer(.accepted, one, &tokens) == .kept)
    #expect(answer(.unknown, one, &tokens, served: both) == .quarantined)
    #expect(answer(.unknown, two, &tokens, isStorm: true) == .quarantined)
    #expect(tokens.tokens.count == 2 && tokens.usable { _ in true }.isEmpty)
    tokens.register(.device, two, in: .development, osVersion: nil, at: noon)
    #expect(tokens.usable { _ in true }.map(\.token) == [two])
  }

  @Test func `is bounded, and the token not heard of for longest goes`() throws {
    var tokens = TokenRegistry()
    for number in 0..<100 {
      tokens.register(
        .device, try pushToken(number), in: .development, osVersion: nil,
        at: noon + .seconds(number))
    }
    #expect(tokens.tokens.count == TokenRegistry.limit)
    #expect(try tokens.tokens.last?.token == pushToken(99))
    #expect(try tokens[pushToken(75)] == nil)
    #expect(try tokens[pushToken(76)] != nil)
  }

  @Test func `is read as it was written`() throws {
    var member = TripMember()
    member.register(one, of: "a", environment: .production, osVersion: OSVersion(17, 4), at: noon)
    member.register(two, of: "b", environment: .development, osVersion: nil, at: noon)
    _ = member.answered(
      .accepted, to: one, in: .production, served: both, isStorm: false, at: noon)
    _ = member.answered(
      .unknown, to: one, in: .production, served: both, isStorm: false, at: noon)
    member.card.starting(at: noon + .seconds(1))
    #expect(TripMember(stored: member.written()) == member)
    member.awaitsEnd = true
    #expect(TripMember(stored: member.written()) == member)
    var person = Person()
    person.register(.pushToStart, one, of: "a.b", in: .development, osVersion: nil, at: noon)
    person.registered(for: try MemberID("anna"), at: noon)
    person.registered(for: try MemberID("bela"), at: noon)
    person.registered(for: try MemberID("anna"), at: noon)
    #expect(person.holders.map(\.text) == ["bela", "anna"])
    person.starts.count(at: noon)
    #expect(Person(stored: person.written()) == person)
  }

  @Test func `a card that follows another has it ended, and leaves younger ones alone`() {
    var member = TripMember()
    let later = noon + .seconds(4 * 3_600)
    let renewal = noon + StartRules().renewalAge
    member.register(one, of: "old", environment: .development, osVersion: nil, at: noon)
    member.register(two, of: "other", environment: .development, osVersion: nil, at: later)
    member.card.starting(at: renewal)
    #expect(member.replaced.isEmpty, "it may never come")
    let isNews = member.register(
      two, of: "new", environment: .development, osVersion: nil, at: renewal + .seconds(9))
    #expect(isNews && member.replaced == ["old"])
    #expect(TripMember(stored: member.written()) == member)
    let isNewsAgain = member.register(
      two, of: "new", environment: .development, osVersion: nil, at: renewal + .seconds(20))
    #expect(!isNewsAgain)
    member.cardEnded("old", isDismissed: false, at: renewal + .seconds(30))
    #expect(member.replaced.isEmpty && member.tokens.cards.count == 2)
    #expect(member.card.state == .running(since: renewal))
    // A rotated token makes its card no younger: at the end of its life nothing is sent any more.
    member.register(one, of: "other", environment: .development, osVersion: nil, at: renewal)
    let cards = member.tokens.cards.filter { $0.mayBeVisible(at: later + .seconds(12 * 3_600)) }
    #expect(cards.map(\.activityID) == ["new"])
  }

  @Test func `a card is followed though its token came some time after its start`() {
    var member = TripMember()
    member.card.starting(at: noon)
    member.register(
      one, of: "old", environment: .development, osVersion: nil, at: noon + .seconds(20))
    let renewal = noon + StartRules().renewalAge
    member.card.starting(at: renewal)
    member.register(
      two, of: "new", environment: .development, osVersion: nil, at: renewal + .seconds(9))
    #expect(member.replaced == ["old"])
  }

  @Test func `a card's age is that of its own token`() {
    let hour = Duration.seconds(3_600)
    // The app was opened in the middle of the card's life, and joined again.
    var member = TripMember()
    member.register(one, of: "a", environment: .production, osVersion: nil, at: noon)
    member.card.startedInApp(at: noon + hour * 5)
    _ = member.answered(
      .dead(since: noon + hour * 8), to: one, in: .production, served: both, isStorm: false,
      at: noon + hour * 8)
    #expect(member.card.state == .none)
    // A second device's card is closed when the first one's is long over.
    var second = TripMember()
    second.register(one, of: "a", environment: .production, osVersion: nil, at: noon)
    second.register(two, of: "b", environment: .production, osVersion: nil, at: noon + hour * 7)
    second.cardEnded("a", isDismissed: false, at: noon + hour * 8)
    let closing = noon + hour * 8 + hour / 2
    _ = second.answered(
      .dead(since: closing), to: two, in: .production, served: both, isStorm: false, at: closing)
    #expect(second.card.state == .closed)
  }

  @Test func `a card understands what the device does whose token started it`() throws {
    var member = TripMember()
    member.hasStartToken = true
    var tokens = TokenRegistry()
    tokens.register(.pushToStart, one, in: .production, osVersion: OSVersion(18, 1), at: noon)
    member.starting(by: try #require(tokens[one]), at: noon)
    member.startedOnChannel(at: noon)
    #expect(member.osVersion == OSVersion(18, 1) && member.listensToChannel)
    #expect(TripMember(stored: member.written())?.listensToChannel == true)
  }

  @Test func `a device that was sent a start is remembered as one that was named`() {
    var device = Person()
    device.countStartOfDevice(at: noon)
    #expect(device.lastDay == Person.day(of: noon) && device.starts.starts == [noon])
  }

  @Test func `a card whose token dies before its time was closed, and does not come back`() {
    let rules = StartRules()
    func member(diesAt time: UnixTime) -> TripMember {
      var member = TripMember()
      member.hasStartToken = true
      member.register(one, of: "a", environment: .production, osVersion: OSVersion(17, 4), at: noon)
      let verdict = member.answered(
        .dead(since: time), to: one, in: .production, served: both, isStorm: false, at: time)
      #expect(verdict == .retired)
      return member
    }
    let end = noon + .seconds(24 * 3_600)
    var closed = member(diesAt: noon + .seconds(3_600))
    #expect(closed.card.state == .closed && TripMember(stored: closed.written()) == closed)
    let later = noon + .seconds(7_200)
    #expect(closed.card.verdict(at: later, until: end, rules: rules) == .never(.dismissed))
    // The card was there after all, under another token.
    closed.register(two, of: "a", environment: .production, osVersion: nil, at: later)
    #expect(closed.card.state == .running(since: later))
    // One that the system ended is followed by another.
    let over = member(diesAt: noon + rules.renewalAge)
    #expect(over.card.state == .none && !over.neverHadCard)
    #expect(over.card.verdict(at: end - .seconds(1), until: end, rules: rules) == .start)
  }

  @Test func `a dead token of a card that is followed by another ends only that one`() {
    var member = TripMember()
    member.hasStartToken = true
    member.register(one, of: "old", environment: .production, osVersion: OSVersion(18, 0), at: noon)
    let renewal = noon + StartRules().renewalAge
    member.card.starting(at: renewal)
    member.startedOnChannel(at: renewal)
    #expect(member.replaced == ["old"])
    _ = member.answered(
      .dead(since: renewal + .seconds(60)), to: one, in: .production, served: both, isStorm: false,
      at: renewal + .seconds(60))
    #expect(member.card.state == .running(since: renewal))
    #expect(member.replaced.isEmpty && member.tokens.tokens.isEmpty)
  }

  @Test(arguments: [(17, 4, false), (18, 0, true)])
  func `a card listens to the channel only where the system has channels`(
    major: Int, minor: Int, listens: Bool
  ) {
    var member = TripMember()
    _ = member.register(
      one, of: "a", environment: .production, osVersion: OSVersion(major, minor), at: noon)
    member.cardEnded("a", isDismissed: false, at: noon)
    member.hasStartToken = true
    member.card.starting(at: noon)
    #expect(member.listensToChannel == listens)
  }

  /// Any order of registrations and answers: a token that was retired is never usable before its
  /// app names it again, and a registration never removes what another device had.
  @Test(arguments: 0..<60 as Range<UInt64>)
  func `sends to a dead token once, and merges whatever comes`(seed: UInt64) throws {
    var dice = TripDice(seed: seed)
    var tokens = TokenRegistry()
    let served = dice.happens(oneIn: 2) ? both : [.development]
    var live: [RegisteredToken.Kind: Set<PushToken>] = [:]
    var now = noon
    for _ in 0..<400 {
      now = now + .seconds(dice.roll(0..<30))
      let token = try pushToken(dice.roll(0..<6))
      let kinds: [RegisteredToken.Kind] = [.device, .update(activityID: "a\(dice.roll(0..<3))")]
      let kind = kinds[dice.roll(0..<2)]
      let known = tokens.tokens.first { $0.kind == kind && $0.token == token }
      if dice.happens(oneIn: 3) {
        let environment = dice.happens(oneIn: 2) ? AppID.Environment.development : .production
        tokens.register(kind, token, in: environment, osVersion: nil, at: now)
        if kind == .device { live[kind, default: []].insert(token) } else { live[kind] = [token] }
      } else if let known, known.isUsable,
        tokens.tokens.filter({ $0.token == token }).count == 1
      {
        let answer = [TokenAnswer.accepted, .unknown, .dead(since: now), .dead(since: noon)][
          dice.roll(0..<4)]
        let isStorm = dice.happens(oneIn: 4)
        let verdict = tokens.answered(
          answer, to: token, in: known.environment, served: served, isStorm: isStorm, at: now)
        let after = tokens[token]
        switch verdict {
        case .retired:
          #expect(after == nil && known.acceptedIn.isEmpty || answer != .unknown)
          #expect(answer != .unknown || !isStorm)
          live[kind]?.remove(token)
        case .moved(let other): #expect(after?.environment == other && answer == .unknown)
        case .quarantined: #expect(after?.isUsable == false && answer == .unknown)
        case .kept: #expect(after != nil && answer == .accepted)
        case .held: #expect(after?.isUsable == false && answer == .dead(since: noon))
        case .gone: Issue.record("a token that is there is gone")
        }
      }
      for (kind, expected) in live {
        #expect(Set(tokens.tokens.filter { $0.kind == kind }.map(\.token)) == expected)
      }
    }
  }
}

@Suite struct `A storm of unknown tokens` {
  @Test func `is when most tokens fail, and passes`() {
    var storm = TokenStorm()
    storm.note(unknown: 9, others: 0, at: noon)
    #expect(!storm.isRaging)
    storm.note(unknown: 3, others: 1, at: noon + .seconds(10))
    #expect(storm.isRaging)
    storm.note(unknown: 0, others: 50, at: noon + .seconds(20))
    #expect(!storm.isRaging)
    storm.note(unknown: 12, others: 2, at: noon + .seconds(900))
    #expect(storm.isRaging)
  }
}
