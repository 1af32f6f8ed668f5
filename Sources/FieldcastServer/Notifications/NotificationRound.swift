internal import APNs
internal import Clocks
internal import FieldTrips
internal import TripStore

/// One attempt to send a notification to all its devices that are not done with.
struct NotificationRound {
  enum Outcome: Sendable {
    /// Each was tried, or marked before.
    ///
    /// - Parameter unsure: of how many the answer is not known.
    case tried(retryAfter: Duration?, reason: String?, unsure: Int)
    /// Nothing can be sent, now or later.
    case impossible(String)
    /// Its time was over before all were tried.
    case expired
    /// Another node goes on, or this one will.
    case stopped
  }

  let id: NotificationID
  let request: NotificationRequest
  let life: NotificationLife
  let holding: Holding
  let owner: Owner
  private let attempt = String(UUIDText.random().prefix(13))

  init(
    id: NotificationID, request: NotificationRequest, life: NotificationLife, holding: Holding,
    owner: Owner
  ) {
    self.id = id
    self.request = request
    self.life = life
    self.holding = holding
    self.owner = owner
  }
}

extension NotificationRound {
  /// What a round learns on its way.
  private struct Notes {
    var retryAfter: Duration?
    var reason: String?
    var unsure = 0
    /// Devices of this round: one phone may be two members'.
    var seen: Set<String> = []
  }

  private typealias Answered = (letter: NotificationLetter, answer: TokenPushAnswer)

  func run() async throws(StoreError) -> Outcome {
    let push: Push
    do { push = try Push(request, id, content: life.usesFallback ? nil : life.content) } catch {
      return .impossible("\(error)")
    }
    var bundleID = request.bundleID
    if let trip = request.trip {
      guard let record = try await owner.store.trip(trip) else {
        return .impossible("The trip \(trip) is gone.")
      }
      if case .withoutCard = request.recipient, !record.life.mayPublishUpdate {
        return .impossible("The trip is not on.")
      }
      bundleID = record.definition.app.bundleID
    }
    let app = await owner.tokenApp(bundleID)
    let ways = await owner.ways(of: app)
    guard !ways.isEmpty else { return .impossible("The app is not configured here.") }
    var notes = Notes()
    var cursor: String?
    repeat {
      let (people, next) = try await page(after: cursor)
      let letters = try await letters(to: people, of: app, &notes)
      // So many at once that one script call is short.
      for start in stride(from: 0, to: letters.count, by: 200) {
        let part = Array(letters[start..<min(start + 200, letters.count)])
        if life.isExpired(at: owner.clock.wall) { return .expired }
        guard await !owner.isDraining, try await send(push, to: part, of: app, by: ways, &notes)
        else {
          return .stopped
        }
      }
      cursor = next
    } while cursor != nil
    return .tried(
      retryAfter: notes.retryAfter, reason: notes.reason, unsure: notes.unsure)
  }

  private func page(
    after cursor: String?
  ) async throws(StoreError) -> (people: [PersonID], next: String?) {
    switch request.recipient {
    case .member(let member): return ([.member(member)], nil)
    case .device(let device): return ([.device(digest: device.digest)], nil)
    case .trip(let trip):
      let page = try await owner.store.members(of: trip, after: cursor)
      return (page.members.map { .member($0.id) }, page.next)
    case .withoutCard(let trip):
      let page = try await owner.store.members(of: trip, after: cursor)
      let members = page.members.filter { Self.hasNoCard($0.record) }
      return (members.map { .member($0.id) }, page.next)
    }
  }

  private static func hasNoCard(_ record: MemberRecord) -> Bool {
    guard let member = TripMember(stored: record.body) else { return false }
    return member.neverHadCard
  }

  private func letters(
    to people: [PersonID], of app: TokenApp, _ notes: inout Notes
  ) async throws(StoreError) -> [NotificationLetter] {
    var letters: [NotificationLetter] = []
    for (id, person) in zip(people, await owner.store.people(people)) {
      let tokens = try person.get().tokens
      for token in tokens.usable(request.kind == .widget ? .widget : .device, of: app) {
        let letter = NotificationLetter(id, token)
        if notes.seen.insert(letter.device).inserted { letters.append(letter) }
      }
    }
    return letters
  }

  /// - Returns: false when the partition is no longer ours, or the notification is over.
  private func send(
    _ push: Push, to letters: [NotificationLetter], of app: TokenApp,
    by ways: [AppID.Environment: AppGateway], _ notes: inout Notes
  ) async throws(StoreError) -> Bool {
    let granted = try await mark(letters.map { ($0.device, .sending(attempt: attempt)) })
    guard let granted else { return false }
    var left = zip(letters, granted).filter(\.1).map(\.0)
    var marks: [(device: String, mark: DeviceMark)] = []
    // Twice: a token that one environment does not know is tried in the other. The first try came
    // to nothing for certain, so the mark stands for the second as well.
    for _ in 0..<2 where !left.isEmpty {
      let answers = await send(push, to: left, by: ways)
      let raging = await owner.noteStorm(
        answers.map { ($0.letter.environment, $0.answer) }, of: app.bundleID)
      left = []
      for (letter, answer) in answers {
        let isStorm = raging.contains(letter.environment)
        switch try await judge(answer, letter, Set(ways.keys), isStorm: isStorm, &notes) {
        case .mark(let mark): marks.append((letter.device, mark))
        case .unconfirmed: await owner.noteUnconfirmed()
        case .elsewhere(let environment):
          left.append(NotificationLetter(letter.person, letter.token, environment: environment))
        }
      }
    }
    marks += left.map { ($0.device, .refused) }
    await owner.note(marks.map(\.mark))
    return try await mark(marks) != nil
  }

  private func send(
    _ push: Push, to letters: [NotificationLetter], by ways: [AppID.Environment: AppGateway]
  ) async -> [Answered] {
    var answers: [Answered] = []
    for (environment, own) in Dictionary(grouping: letters, by: \.environment) {
      let said =
        await ways[environment]?.notify(push, id, to: own)
        ?? own.map { _ in .defect("No app of that environment is configured here.") }
      for (letter, answer) in zip(own, said) { answers.append((letter, answer)) }
    }
    return answers
  }

  private enum Verdict {
    case mark(DeviceMark)
    /// APNs may have it: the mark of the attempt stays, by which it is sent once more or never.
    case unconfirmed
    case elsewhere(AppID.Environment)
  }

  private func judge(
    _ answer: TokenPushAnswer, _ letter: NotificationLetter, _ served: Set<AppID.Environment>,
    isStorm: Bool, _ notes: inout Notes
  ) async throws(StoreError) -> Verdict {
    switch answer {
    case .unsure:
      notes.unsure += 1
      return .unconfirmed
    case .later(let retryAfter):
      notes.retryAfter = [notes.retryAfter, retryAfter].compactMap(\.self).max()
      notes.reason = "APNs put some devices off."
      return .mark(.later)
    case .defect(let reason):
      notes.reason = reason
      return .mark(.refused)
    case .said(.accepted) where letter.token.acceptedIn.contains(letter.environment):
      return .mark(.accepted)
    case .said(let said):
      let verdict = try await owner.settle(said, letter, served, isStorm: isStorm)
      if said == .accepted { return .mark(.accepted) }
      switch verdict {
      case .moved(let other): return .elsewhere(other)
      // The app named it again after this was sent, and APNs had given it up before.
      case .kept: return .mark(.later)
      case .retired, .held, .gone: return .mark(.dead)
      case .quarantined:
        notes.reason = "APNs does not know tokens that should be good: check key and environment."
        return .mark(.refused)
      }
    }
  }

  /// - Returns: for each mark whether it was set; nil when it is no longer ours to set any.
  private func mark(
    _ marks: [(device: String, mark: DeviceMark)]
  ) async throws(StoreError) -> [Bool]? {
    guard !marks.isEmpty else { return [] }
    let outcome = try await owner.store.changeNotification(
      NotificationChange(
        id, from: life, to: life, marks: marks, repeatsUnconfirmed: request.mayBeRepeated),
      owner: holding.ownership, at: owner.clock.wall)
    switch outcome {
    case .changed(let granted): return granted
    case .conflict, .unknown: return nil
    case .fenced(let current):
      await owner.fenced(holding, current: current)
      return nil
    }
  }
}

extension Owner {
  /// Keeps what an answer changes about a person's token.
  func settle(
    _ answer: TokenAnswer, _ letter: NotificationLetter, _ served: Set<AppID.Environment>,
    isStorm: Bool
  ) async throws(StoreError) -> TokenVerdict {
    let word = TokenWord(
      answer: answer, token: letter.token, environment: letter.environment, served: served,
      isStorm: isStorm, at: clock.wall)
    let verdict = try await store.keep(word, of: letter.person).verdict
    switch verdict {
    case .retired: counts.tokensRetired += 1
    case .quarantined: counts.tokensQuarantined += 1
    case .kept, .moved, .held, .gone: break
    }
    return verdict
  }

  var notificationCounts: NotificationDesk.Counts { desk.counts }

  func noteUnconfirmed() { desk.counts.unconfirmed += 1 }

  func note(_ marks: [DeviceMark]) {
    for mark in marks {
      switch mark {
      case .accepted: desk.counts.accepted += 1
      case .later: desk.counts.later += 1
      case .dead: desk.counts.dead += 1
      case .refused: desk.counts.refused += 1
      case .sending: break
      }
    }
  }
}
