internal import Clocks
internal import FieldTrips
internal import Transport
internal import TripStore

/// Starts cards of some of a trip's members, and keeps what came of it.
struct StartRound: Sendable {
  /// One start that is recorded and may be sent.
  struct Start: Sendable {
    let member: MemberID
    let token: PushToken
    let environment: AppID.Environment
    let way: RemoteStart
  }

  struct Outcome: Sendable {
    /// Starts that certainly came to nothing and may go another way.
    var again: [Start] = []
    /// Why APNs refuses starts by good tokens; the last reason.
    var defect: String?
  }

  typealias Answered = (start: Start, answer: TokenPushAnswer)

  let book: MemberBook
  let definition: TripDefinition
  let type: ActivityType
  let state: ReservedState
  private static let rules = StartRules()

  private var channel: ChannelID? { state.life.channel.openID }

  /// Whether no start was sent and no card is known, as far as the record says.
  static func mayStart(_ record: MemberRecord) -> Bool {
    TripMember(stored: record.body).map { mayStart($0) } ?? false
  }

  /// One of unknown outcome is never sent again: it may have made a card that says nothing.
  private static func mayStart(_ member: TripMember) -> Bool {
    member.hasStartToken && member.tokens.cards.isEmpty && member.card.state == .none
      && member.card.unconfirmed == 0
  }

  /// Records the starts that may be sent now: in the person's budget first, then with the card.
  func grant(
    _ members: [MemberID]
  ) async throws(StoreError) -> (starts: [Start], withheld: Int) {
    var starts: [Start] = []
    var withheld = 0
    for member in members {
      var isGranted = false
      let now = UnixTime(milliseconds: book.clock.wall.milliseconds)
      let person = try await book.store.changePerson(.member(member)) {
        isGranted =
          !$0.tokens.starts.isEmpty
          && $0.starts.nextStart(at: now, rules: Self.rules) <= now
        if isGranted { $0.starts.count(at: now) }
      }
      guard isGranted else {
        if !person.tokens.starts.isEmpty { withheld += 1 }
        continue
      }
      var way: RemoteStart?
      let token = person.tokens.starts[0]
      try await book.change(member) { known in
        way = nil
        guard Self.mayStart(known),
          known.card.verdict(at: now, budget: StartBudget(), rules: Self.rules) == .start
        else { return }
        way = self.way(of: token, known)
        if way != nil { known.card.starting(at: now, rules: Self.rules) }
      }
      guard let way else { continue }
      starts.append(
        Start(member: member, token: token.token, environment: token.environment, way: way))
    }
    return (starts, withheld)
  }

  /// Sends them, those that are alike together.
  func send(_ starts: [Start]) async -> [Answered] {
    struct Group: Hashable {
      let environment: AppID.Environment
      let way: RemoteStart
    }
    var answers: [Answered] = []
    let groups = Dictionary(grouping: starts) { Group(environment: $0.environment, way: $0.way) }
    for (group, own) in groups {
      let order = StartOrder(
        way: group.way, state: state, attributes: definition.attributes, sentAt: book.clock.wall)
      let said =
        await book.gateway(group.environment)?.start(order, of: type, to: own.map(\.token))
        ?? own.map { _ in .defect("No app of that environment is configured here.") }
      for (start, answer) in zip(own, said) { answers.append((start, answer)) }
    }
    return answers
  }

  func settle(_ answers: [Answered], isStorm: Bool) async throws(StoreError) -> Outcome {
    var outcome = Outcome()
    for (start, answer) in answers {
      switch answer {
      case .unsure: break  // there may be a card
      case .defect(let reason):
        outcome.defect = reason
        try await book.change(start.member) { $0.card.startRefused() }
      case .later: try await book.change(start.member) { $0.card.startRefused() }
      case .said(let said):
        if let next = try await judge(said, start, isStorm: isStorm) { outcome.again.append(next) }
      }
    }
    return outcome
  }

  /// - Returns: how to start the member's card instead, after a certain refusal.
  private func judge(
    _ answer: TokenAnswer, _ start: Start, isStorm: Bool
  ) async throws(StoreError) -> Start? {
    let now = book.clock.wall
    let person = try await book.store.changePerson(.member(start.member)) {
      _ = $0.answered(
        answer, to: start.token, in: start.environment, served: book.served, isStorm: isStorm,
        at: now)
    }
    guard answer != .accepted else { return nil }
    if let next = person.tokens.starts.first {
      var way: RemoteStart?
      // The record of the start stands: it is the same one, by another token.
      try await book.change(start.member) { way = self.way(of: next, $0) }
      if let way, next.token != start.token || next.environment != start.environment {
        return Start(
          member: start.member, token: next.token, environment: next.environment, way: way)
      }
    }
    try await book.change(start.member) {
      $0.card.startRefused()
      $0.hasStartToken = !person.tokens.starts.isEmpty
    }
    return nil
  }

  private func way(of token: RegisteredToken, _ member: TripMember) -> RemoteStart? {
    var device = member.device
    device.osVersion = token.osVersion ?? device.osVersion
    return device.remoteStart(channel: channel)
  }
}
