internal import Clocks
internal import Crypto
internal import FieldTrips
internal import TripStore

/// APNs' word on a token that was sent to.
struct TokenWord: Sendable {
  let answer: TokenAnswer
  /// As it was known when it was sent to.
  let token: RegisteredToken
  /// Where it was sent to.
  let environment: AppID.Environment
  let served: Set<AppID.Environment>
  let isStorm: Bool
  let at: UnixTime
}

/// One token may be registered under the names of several members, as a phone whose app changes its
/// user: beside what is kept of each of them, the token by itself is kept, with all of them.
extension TripStore {
  /// Notes that a token was registered for a member.
  func noteHolder(
    _ member: MemberID, of token: PushToken, at now: UnixTime
  ) async throws(StoreError) {
    try await changePerson(.device(of: token)) { $0.registered(for: member, at: now) }
  }

  /// Keeps APNs' word on a person's token, with everybody who registered it: who is dead for one is
  /// dead for all, and is sent to once.
  ///
  /// - Returns: what became of it for the person, and the person.
  func keep(
    _ word: TokenWord, of person: PersonID
  ) async throws(StoreError) -> (verdict: TokenVerdict, person: Person) {
    var verdict = TokenVerdict.gone
    let changed = try await changePerson(person) {
      verdict = $0.answered(word, namedAt: word.token.lastSeen)
    }
    guard word.answer != .accepted else { return (verdict, changed) }
    let device = PersonID.device(of: word.token.token)
    let holders = try await people([device])[0].get().holders
    for other in [device] + holders.map(PersonID.member) where other != person {
      try await changePerson(other) { _ = $0.answered(word, namedAt: nil) }
    }
    return (verdict, changed)
  }

  /// Whether a device shows the card of another of a trip's members, for whom it is registered too:
  /// a second one beside it would be the same trip twice.
  ///
  /// Not, where that member has named another device since: the card is there.
  ///
  /// - Parameter holders: for whom the device's start token is registered.
  func showsCard(
    ofOthersThan member: MemberID, among holders: [MemberID], by token: PushToken, of app: TokenApp,
    on trip: TripID, at now: UnixTime
  ) async throws(StoreError) -> Bool {
    let others = holders.filter { $0 != member }
    guard !others.isEmpty else { return false }
    let withCards = try await members(others, of: trip).filter {
      TripMember(stored: $0.record.body)?.card.mayBeVisible(at: now) == true
    }
    for person in await people(withCards.map { .member($0.id) }) {
      let newest = try person.get().tokens.usable(.pushToStart, of: app).first
      if newest?.token == token { return true }
    }
    return false
  }
}

extension Person {
  fileprivate mutating func answered(_ word: TokenWord, namedAt: UnixTime?) -> TokenVerdict {
    answered(
      word.answer, to: word.token.token, namedAt: namedAt, in: word.environment,
      served: word.served, isStorm: word.isStorm, at: word.at)
  }
}

extension PersonID {
  /// What is kept of a token by itself.
  static func device(of token: PushToken) -> PersonID {
    .device(digest: SHA256Text.of(Array(token.hex.utf8)))
  }
}
