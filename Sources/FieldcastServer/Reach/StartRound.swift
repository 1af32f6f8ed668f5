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
    /// When it was recorded.
    let at: UnixTime
  }

  struct Grants: Sendable {
    var starts: [Start] = []
    /// Members whose devices' budgets of starts are spent.
    var withheld = 0
    /// When it is worth looking again: the earliest time at which one of them may be started.
    var next: UnixTime?

    mutating func wait(until time: UnixTime) { next = min(next ?? time, time) }
  }

  struct Outcome: Sendable {
    /// Starts that certainly came to nothing and may go another way.
    var again: [Start] = []
    var accepted = 0
    /// Refused for now, or for a fault of ours, to be tried again later.
    var refused = 0
    /// Members with a card that follows one with a token, which is to be ended.
    var following: [MemberID] = []
    /// Why APNs refuses starts by good tokens; the last reason.
    var defect: String?
  }

  typealias Answered = (start: Start, answer: TokenPushAnswer)

  let book: MemberBook
  let definition: TripDefinition
  let type: ActivityType
  let state: ReservedState
  static let rules = StartRules()

  private var channel: ChannelID? { state.life.channel.openID }

  /// Whether a card may be started, as far as the member's record says; nil where none can be.
  static func verdict(
    _ record: MemberRecord, at now: UnixTime, until end: UnixTime
  ) -> StartVerdict? {
    guard let member = TripMember(stored: record.body), member.hasStartToken else { return nil }
    return member.card.verdict(at: now, until: end, rules: rules)
  }

  /// Records the starts that may be sent now: in the person's budget first, then with the card.
  func grant(_ members: [MemberID]) async throws(StoreError) -> Grants {
    var grants = Grants()
    for member in members {
      let now = book.clock.wall.inMilliseconds
      var isGranted = false
      var waits: UnixTime?
      let person = try await book.store.changePerson(.member(member)) {
        isGranted = false
        waits = nil
        guard !$0.tokens.starts.isEmpty else { return }
        let next = $0.starts.nextStart(at: now, rules: Self.rules)
        guard next <= now else {
          waits = next
          return
        }
        isGranted = true
        $0.starts.count(at: now)
      }
      if let waits {
        grants.withheld += 1
        grants.wait(until: waits)
      }
      guard isGranted else { continue }
      let token = person.tokens.starts[0]
      if let way = try await record(member, token, at: now) {
        grants.starts.append(
          Start(
            member: member, token: token.token, environment: token.environment, way: way, at: now))
      } else {
        try await refund(member, now)
      }
    }
    return grants
  }

  /// - Returns: how to start the card; nil when it must not be any more.
  private func record(
    _ member: MemberID, _ token: RegisteredToken, at now: UnixTime
  ) async throws(StoreError) -> RemoteStart? {
    var way: RemoteStart?
    try await book.change(member) { known in
      way = nil
      guard known.card.verdict(at: now, until: state.life.times.endsAt, rules: Self.rules) == .start
      else { return }
      way = self.way(of: token, known)
      if way != nil { known.card.starting(at: now) }
    }
    return way
  }

  private func refund(_ member: MemberID, _ time: UnixTime) async throws(StoreError) {
    try await book.store.changePerson(.member(member)) { $0.starts.refund(time) }
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
        trip: book.trip, way: group.way, state: state, attributes: definition.attributes,
        sentAt: book.clock.wall)
      let said =
        await book.ways[group.environment]?.start(order, of: type, to: own.map(\.token))
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
        outcome.refused += 1
        try await refused(start)
      case .later:
        outcome.refused += 1
        try await refused(start)
      case .said(let said):
        switch try await judge(said, start, isStorm: isStorm) {
        case .again(let next): outcome.again.append(next)
        case .later: outcome.refused += 1
        case .nothing: break
        }
        guard said == .accepted else { continue }
        outcome.accepted += 1
        if case .onChannel = start.way, try await isFollowing(start) {
          outcome.following.append(start.member)
        }
      }
    }
    return outcome
  }

  /// A card on the channel is there as soon as APNs has the start.
  ///
  /// - Returns: whether it follows one with a token.
  private func isFollowing(_ start: Start) async throws(StoreError) -> Bool {
    var follows = false
    try await book.change(start.member) {
      $0.startedOnChannel(at: start.at)
      follows = !$0.replaced.isEmpty
    }
    return follows
  }

  private func refused(_ start: Start) async throws(StoreError) {
    try await book.change(start.member) { $0.card.startRefused() }
    try await refund(start.member, start.at)
  }

  private enum Verdict {
    /// How to start the member's card instead, after a certain refusal.
    case again(Start)
    /// By the same token: its app named it again after APNs had given it up.
    case later
    case nothing
  }

  private func judge(
    _ answer: TokenAnswer, _ start: Start, isStorm: Bool
  ) async throws(StoreError) -> Verdict {
    let now = book.clock.wall
    let person = try await book.store.changePerson(.member(start.member)) {
      _ = $0.answered(
        answer, to: start.token, in: start.environment, served: book.served, isStorm: isStorm,
        at: now)
    }
    guard answer != .accepted else { return .nothing }
    let next = person.tokens.starts.first
    let isSame = next?.token == start.token && next?.environment == start.environment
    if let next, !isSame {
      var way: RemoteStart?
      // The record of the start stands: it is the same one, by another token.
      try await book.change(start.member) { way = self.way(of: next, $0) }
      if let way {
        return .again(
          Start(
            member: start.member, token: next.token, environment: next.environment, way: way,
            at: start.at))
      }
    }
    try await book.change(start.member) {
      $0.card.startRefused()
      $0.hasStartToken = !person.tokens.starts.isEmpty
    }
    try await refund(start.member, start.at)
    return isSame ? .later : .nothing
  }

  private func way(of token: RegisteredToken, _ member: TripMember) -> RemoteStart? {
    var device = member.device
    device.osVersion = token.osVersion ?? device.osVersion
    // Whether there is a card already was asked before.
    device.hasUpdateToken = false
    return device.remoteStart(channel: channel)
  }
}
