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
    /// The card was followed by a newer one, and is to be ended.
    let isReplaced: Bool
    /// The person does not allow frequent updates.
    let isFrugal: Bool
    /// The member is marked as one who has yet to get the end.
    let awaitsEnd: Bool
  }

  struct Outcome: Sendable {
    /// Who is to get the newest state later.
    var owed: [MemberID] = []
    /// Letters for another environment than the one that did not know them.
    var moved: [Letter] = []
    /// Whose last token was retired: they may be started again.
    var bereft: [MemberID] = []
    var retired = 0
    var quarantined = 0
    /// Letters that went nowhere: no app of their tokens' environment is configured here.
    var unserved = 0
    /// Who was not sent it for a fault of ours.
    var failed: [MemberID] = []
    /// Why APNs refuses pushes to good tokens; the last reason.
    var defect: String?
  }

  typealias Answered = (letter: Letter, answer: TokenPushAnswer)

  let book: MemberBook
  let type: ActivityType

  /// To every card that can still be seen.
  static func letters(
    to members: [(id: MemberID, record: MemberRecord)], at now: UnixTime
  ) -> [Letter] {
    members.flatMap { (id, record) -> [Letter] in
      guard let member = TripMember(stored: record.body) else { return [] }
      return member.tokens.cards.filter { $0.mayBeVisible(at: now) }.map {
        Letter(
          member: id, token: $0, environment: $0.environment,
          isReplaced: $0.activityID.map(member.replaced.contains) ?? false,
          isFrugal: member.allowsFrequentUpdates == false, awaitsEnd: member.awaitsEnd)
      }
    }
  }

  /// Sends to all of them, each in the environment of its token.
  ///
  /// - Parameter frugalPriority: for those who do not allow frequent updates.
  func send(
    _ update: CardUpdate, frugalPriority: Int, to letters: [Letter]
  ) async -> [Answered] {
    var answers: [Answered] = []
    let groups = sorted(letters, update, frugalPriority)
    for environment in AppID.Environment.allCases {
      for (update, group) in groups {
        let own = group.filter { $0.environment == environment }
        guard !own.isEmpty else { continue }
        let said =
          await book.ways[environment]?.update(update, of: type, to: own.map(\.token.token))
          ?? own.map { _ in .defect("No app of that environment is configured here.") }
        for (letter, answer) in zip(own, said) { answers.append((letter, answer)) }
      }
    }
    return answers
  }

  private func sorted(
    _ letters: [Letter], _ update: CardUpdate, _ frugalPriority: Int
  ) -> [(CardUpdate, [Letter])] {
    var (frugal, replaced) = (update, update)
    frugal.priority = frugalPriority
    replaced.isEnd = true
    replaced.alert = nil
    replaced.dismissal = .atOnce
    return [
      (update, letters.filter { !$0.isReplaced && !$0.isFrugal }),
      (frugal, letters.filter { !$0.isReplaced && $0.isFrugal }),
      (replaced, letters.filter(\.isReplaced)),
    ]
  }

  /// Keeps what the answers change about tokens.
  ///
  /// - Parameter raging: where so many tokens are unknown that they are not what is wrong.
  func settle(
    _ answers: [Answered], raging: Set<AppID.Environment>
  ) async throws(StoreError) -> Outcome {
    var outcome = Outcome()
    // One card has the end: its member waits for it as long as another has not.
    let unfinished = Set(answers.filter { !isFinished($0) }.map(\.letter.member))
    for (letter, answer) in answers {
      switch answer {
      case .defect where !book.served.contains(letter.environment): outcome.unserved += 1
      case .defect(let reason):
        outcome.defect = reason
        outcome.failed.append(letter.member)
      case .unsure, .later: outcome.owed.append(letter.member)
      case .said(.accepted) where letter.isReplaced: try await ended(letter)
      case .said(.accepted)
      where letter.token.acceptedIn.contains(letter.environment) && !letter.awaitsEnd:
        break
      case .said(let said):
        let isLast = !unfinished.contains(letter.member)
        let isStorm = raging.contains(letter.environment)
        switch try await judge(said, letter, isStorm: isStorm, isLast: isLast) {
        // Its app named it again meanwhile, and APNs had given it up before: this push has reached
        // nobody.
        case .kept where said != .accepted: outcome.owed.append(letter.member)
        case .kept, .held, .gone: break
        case .moved(let other):
          outcome.moved.append(
            Letter(
              member: letter.member, token: letter.token, environment: other,
              isReplaced: letter.isReplaced, isFrugal: letter.isFrugal,
              awaitsEnd: letter.awaitsEnd))
        case .retired:
          outcome.retired += 1
          outcome.bereft.append(letter.member)
        case .quarantined: outcome.quarantined += 1
        }
      }
    }
    return outcome
  }

  /// The card that was followed by another is gone.
  private func ended(_ letter: Letter) async throws(StoreError) {
    try await book.change(letter.member) {
      $0.cardEnded(letter.token.activityID, isDismissed: false, at: book.clock.wall)
    }
  }

  private func judge(
    _ answer: TokenAnswer, _ letter: Letter, isStorm: Bool, isLast: Bool
  ) async throws(StoreError) -> TokenVerdict {
    var verdict = TokenVerdict.gone
    try await book.change(letter.member) {
      verdict = $0.answered(
        answer, to: letter.token.token, namedAt: letter.token.lastSeen, in: letter.environment,
        served: book.served, isStorm: isStorm, at: book.clock.wall)
      // Nothing but ends is sent to who awaits one.
      if answer == .accepted, isLast { $0.awaitsEnd = false }
    }
    return verdict
  }

  /// Whether nothing more is to be sent to a card for now.
  private func isFinished(_ answered: Answered) -> Bool {
    switch answered.answer {
    case .said(.accepted), .said(.dead): true
    case .defect: !book.served.contains(answered.letter.environment)
    case .said(.unknown), .unsure, .later: false
    }
  }
}
