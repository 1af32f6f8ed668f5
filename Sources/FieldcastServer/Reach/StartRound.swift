internal import Clocks
internal import FieldTrips
internal import Transport
internal import TripStore

/// Starts cards of some of a trip's members, and keeps what came of it.
struct StartRound: Sendable {
  /// One start that is recorded and may be sent.
  struct Start: Sendable {
    let member: MemberID
    let token: RegisteredToken
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

  /// What became of a start.
  enum Settled: Sendable {
    /// - Parameter follows: the new card follows one with a token, which is to be ended.
    case accepted(follows: Bool)
    /// It certainly came to nothing and may go another way.
    case again(Start)
    /// Refused for now, or for a fault of ours, to be tried again later.
    case refused(defect: String?)
    /// It certainly came to nothing, and no other may be sent before this time.
    case withheld(until: UnixTime)
    /// It may have come to a card, or no start of the member is possible any more.
    case nothing
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

  // MARK: Granting

  /// Records the starts that may be sent now: in the budgets first, then with the card.
  func grant(_ members: [MemberID]) async throws(StoreError) -> Grants {
    var grants = Grants()
    for member in members { try await grant(member, &grants) }
    return grants
  }

  private func grant(_ member: MemberID, _ grants: inout Grants) async throws(StoreError) {
    let now = book.clock.wall.inMilliseconds
    guard let (token, next) = try await countOfPerson(member, at: now) else {
      if try await lacksToken(member) { return }
      return grants.wait(until: now)
    }
    guard next <= now else {
      grants.withheld += 1
      return grants.wait(until: next)
    }
    let (holders, nextOfDevice) = try await countOfDevice(token, start: now, at: now)
    guard nextOfDevice <= now else {
      try await refund(member, nil, now)
      grants.withheld += 1
      return grants.wait(until: nextOfDevice)
    }
    let isTaken = try await isTaken(token, holders, from: member, at: now)
    if !isTaken, let way = try await record(member, token, at: now) {
      return grants.starts.append(Start(member: member, token: token, way: way, at: now))
    }
    try await refund(member, token, now)
    // The other member's card may be over by then.
    if isTaken { grants.wait(until: now + Self.rules.pause) }
  }

  /// - Returns: the token to start by, and when its person may be started; the start is counted if
  ///   that is now. Nil when there is no such token.
  private func countOfPerson(
    _ member: MemberID, at now: UnixTime
  ) async throws(StoreError) -> (token: RegisteredToken, next: UnixTime)? {
    var next = now
    let person = try await book.store.changePerson(.member(member)) {
      next = $0.starts.nextStart(at: now, rules: Self.rules)
      guard next <= now, newestStart(of: $0) != nil else { return }
      $0.starts.count(at: now)
    }
    return newestStart(of: person).map { ($0, next) }
  }

  /// - Parameter start: when it was recorded; counted before, it is not counted again.
  /// - Returns: for whom the device is registered, and when it may be started; the start is counted
  ///   if that is now.
  private func countOfDevice(
    _ token: RegisteredToken, start: UnixTime, at now: UnixTime
  ) async throws(StoreError) -> (holders: [MemberID], next: UnixTime) {
    var next = now
    let device = try await book.store.changePerson(.device(of: token.token)) {
      next = now
      if start < now, $0.starts.starts.contains(start) { return }
      next = $0.starts.nextStart(at: now, rules: Self.rules)
      if next <= now { $0.countStartOfDevice(at: start) }
    }
    return (device.holders, next)
  }

  /// Whether the token's device shows the trip's card of another member.
  private func isTaken(
    _ token: RegisteredToken, _ holders: [MemberID], from member: MemberID, at now: UnixTime
  ) async throws(StoreError) -> Bool {
    try await book.store.showsCard(
      ofOthersThan: member, among: holders, by: token.token, of: book.app, on: book.trip, at: now)
  }

  /// Notes that a member has no start token.
  ///
  /// - Returns: false where one came between the look at the person and this note: whoever
  ///   registered it saw that the member had one, and told nobody.
  private func lacksToken(_ member: MemberID) async throws(StoreError) -> Bool {
    try await book.change(member) { $0.hasStartToken = false }
    let person = try await book.store.people([.member(member)])[0].get()
    guard newestStart(of: person) != nil else { return true }
    try await book.change(member) { $0.hasStartToken = true }
    return false
  }

  private func newestStart(of person: Person) -> RegisteredToken? {
    person.tokens.usable(.pushToStart, of: book.app).first
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
      if way != nil { known.starting(by: token, at: now) }
    }
    return way
  }

  private func refund(
    _ member: MemberID, _ token: RegisteredToken?, _ time: UnixTime
  ) async throws(StoreError) {
    try await book.store.changePerson(.member(member)) { $0.starts.refund(time) }
    if let token { try await refund(token, time) }
  }

  private func refund(_ token: RegisteredToken, _ time: UnixTime) async throws(StoreError) {
    try await book.store.changePerson(.device(of: token.token)) { $0.starts.refund(time) }
  }

  private func way(of token: RegisteredToken, _ member: TripMember) -> RemoteStart? {
    var device = member.device
    device.osVersion = token.osVersion ?? device.osVersion
    // Whether there is a card already was asked before.
    device.hasUpdateToken = false
    return device.remoteStart(channel: channel)
  }

  // MARK: Sending

  /// Sends them, those that are alike together.
  func send(_ starts: [Start]) async -> [Answered] {
    struct Group: Hashable {
      let environment: AppID.Environment
      let way: RemoteStart
    }
    var answers: [Answered] = []
    let groups = Dictionary(grouping: starts) {
      Group(environment: $0.token.environment, way: $0.way)
    }
    for (group, own) in groups {
      let order = StartOrder(
        trip: book.trip, way: group.way, state: state, attributes: definition.attributes,
        sentAt: book.clock.wall)
      let said =
        await book.ways[group.environment]?.start(order, of: type, to: own.map(\.token.token))
        ?? own.map { _ in .defect("No app of that environment is configured here.") }
      for (start, answer) in zip(own, said) { answers.append((start, answer)) }
    }
    return answers
  }

  // MARK: Keeping what came of it

  /// Keeps what became of one start. When that fails on the way it may be told again.
  ///
  /// - Parameter isStorm: so many tokens are unknown that they are not what is wrong.
  func settle(_ answered: Answered, isStorm: Bool) async throws(StoreError) -> Settled {
    let start = answered.start
    switch answered.answer {
    case .unsure: return .nothing  // there may be a card
    case .defect(let reason):
      try await giveBack(start)
      return .refused(defect: reason)
    case .later:
      try await giveBack(start)
      return .refused(defect: nil)
    case .said(.accepted):
      _ = try await keep(.accepted, start, isStorm: isStorm)
      guard case .onChannel = start.way else { return .accepted(follows: false) }
      return .accepted(follows: try await isFollowing(start))
    case .said(let said):
      return try await goOn(start, of: try await keep(said, start, isStorm: isStorm))
    }
  }

  /// A start that certainly came to nothing counts as none.
  func giveBack(_ start: Start) async throws(StoreError) {
    try await book.change(start.member) { $0.card.startRefused(at: start.at) }
    try await refund(start.member, start.token, start.at)
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

  /// Keeps APNs' word on a start's token.
  ///
  /// - Returns: the person, as that leaves it.
  private func keep(
    _ answer: TokenAnswer, _ start: Start, isStorm: Bool
  ) async throws(StoreError) -> Person {
    let word = TokenWord(
      answer: answer, token: start.token, environment: start.token.environment,
      served: book.served, isStorm: isStorm, at: book.clock.wall)
    return try await book.store.keep(word, of: .member(start.member)).person
  }

  /// A start's token is no good: another one of its member is tried, if there is one.
  private func goOn(_ start: Start, of person: Person) async throws(StoreError) -> Settled {
    guard let next = newestStart(of: person) else {
      let isOver = try await lacksToken(start.member)
      try await giveBack(start)
      return isOver ? .nothing : .withheld(until: book.clock.wall)
    }
    // Its app named it again meanwhile, and APNs had given it up before.
    if next.token == start.token.token, next.environment == start.token.environment {
      try await giveBack(start)
      return .refused(defect: nil)
    }
    return try await pass(start, to: next)
  }

  /// Sends a start by another token of its member. Its record stands: it is the same one.
  private func pass(
    _ start: Start, to next: RegisteredToken
  ) async throws(StoreError) -> Settled {
    let isOtherDevice = next.token != start.token.token
    // Which has a budget of its own, and may show another member's card.
    if isOtherDevice, let time = try await obstacle(to: start, by: next) {
      try await giveBack(start)
      return .withheld(until: time)
    }
    var way: RemoteStart?
    try await book.change(start.member) {
      way = self.way(of: next, $0)
      if way != nil { $0.learn(osVersionOf: next) }
    }
    guard let way else {
      if isOtherDevice { try await refund(next, start.at) }
      try await giveBack(start)
      return .nothing
    }
    if isOtherDevice { try await refund(start.token, start.at) }
    return .again(Start(member: start.member, token: next, way: way, at: start.at))
  }

  /// Counts a start of another device than the one that it was counted for.
  ///
  /// - Returns: when it is worth looking again, where the device may not be sent it.
  private func obstacle(
    to start: Start, by token: RegisteredToken
  ) async throws(StoreError) -> UnixTime? {
    let now = book.clock.wall.inMilliseconds
    let (holders, next) = try await countOfDevice(token, start: start.at, at: now)
    guard next <= now else { return next }
    guard try await isTaken(token, holders, from: start.member, at: now) else { return nil }
    try await refund(token, start.at)
    return now + Self.rules.pause
  }
}
