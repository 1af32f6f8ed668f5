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

  @Test func `a 410 counts only if it is later than the registration`() {
    var tokens = registry(one, two)
    #expect(answer(.dead(since: noon - .seconds(1)), one, &tokens) == .kept)
    #expect(answer(.dead(since: noon + .seconds(1)), one, &tokens) == .retired)
    #expect(answer(.dead(since: nil), two, &tokens) == .retired)
    #expect(tokens.tokens.isEmpty)
    #expect(answer(.unknown, two, &tokens) == .gone)
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

  @Test func `is read as it was written`() {
    var member = TripMember()
    member.register(one, of: "a", environment: .production, osVersion: OSVersion(17, 4), at: noon)
    member.register(two, of: "b", environment: .development, osVersion: nil, at: noon)
    _ = member.answered(
      .accepted, to: one, in: .production, served: both, isStorm: false, at: noon)
    _ = member.answered(
      .unknown, to: one, in: .production, served: both, isStorm: false, at: noon)
    member.card.starting(at: noon + .seconds(1))
    #expect(TripMember(stored: member.written()) == member)
    var person = Person()
    person.register(.pushToStart, one, in: .development, osVersion: nil, at: noon)
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
        case .kept: #expect(after != nil && answer != .unknown)
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
