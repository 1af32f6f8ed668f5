internal import Clocks
internal import FieldTrips
internal import Transport
internal import TripStore

/// Sends an update to some of a trip's members by their cards' tokens, and keeps what APNs says of
/// the tokens.
struct TokenRound: Sendable {
  /// One card of one member.
  struct Letter: Sendable {
    let member: MemberID
    let token: RegisteredToken
    /// Where it is sent to.
    let environment: AppID.Environment
  }

  struct Outcome: Sendable {
    /// Who is to get the newest state later.
    var owed: [MemberID] = []
    var retryAfter: Duration?
    /// Letters for another environment than the one that did not know them.
    var moved: [Letter] = []
    var retired = 0
    var quarantined = 0
    /// Why APNs refuses pushes to good tokens; the last reason.
    var defect: String?
  }

  typealias Answered = (letter: Letter, answer: TokenPushAnswer)

  let book: MemberBook
  let type: ActivityType

  static func letters(to members: [(id: MemberID, record: MemberRecord)]) -> [Letter] {
    members.flatMap { member in
      (TripMember(stored: member.record.body)?.tokens.cards ?? [])
        .map { Letter(member: member.id, token: $0, environment: $0.environment) }
    }
  }

  /// Sends to all of them, each in the environment of its token.
  func send(_ update: CardUpdate, to letters: [Letter]) async -> [Answered] {
    var answers: [Answered] = []
    for environment in AppID.Environment.allCases {
      let own = letters.filter { $0.environment == environment }
      guard !own.isEmpty, let gateway = book.gateway(environment) else { continue }
      let said = await gateway.update(update, of: type, to: own.map(\.token.token))
      for (letter, answer) in zip(own, said) { answers.append((letter, answer)) }
    }
    return answers
  }

  /// Keeps what the answers change about tokens.
  ///
  /// - Parameter isStorm: so many tokens are unknown that they are not what is wrong.
  func settle(_ answers: [Answered], isStorm: Bool) async throws(StoreError) -> Outcome {
    var outcome = Outcome()
    for (letter, answer) in answers {
      switch answer {
      case .defect(let reason): outcome.defect = reason
      case .unsure: outcome.owed.append(letter.member)
      case .later(let retryAfter):
        outcome.owed.append(letter.member)
        outcome.retryAfter = [outcome.retryAfter, retryAfter].compactMap(\.self).max()
      case .said(.accepted) where letter.token.acceptedIn.contains(letter.environment): break
      case .said(let said):
        switch try await judge(said, letter, isStorm: isStorm) {
        case .kept, .gone: break
        case .moved(let other):
          outcome.moved.append(
            Letter(member: letter.member, token: letter.token, environment: other))
        case .retired: outcome.retired += 1
        case .quarantined: outcome.quarantined += 1
        }
      }
    }
    return outcome
  }

  private func judge(
    _ answer: TokenAnswer, _ letter: Letter, isStorm: Bool
  ) async throws(StoreError) -> TokenVerdict {
    var verdict = TokenVerdict.gone
    try await book.change(letter.member) {
      verdict = $0.answered(
        answer, to: letter.token.token, in: letter.environment, served: book.served,
        isStorm: isStorm, at: book.clock.wall)
    }
    return verdict
  }
}
