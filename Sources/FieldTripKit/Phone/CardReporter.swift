public import Foundation

/// Tells the service what the phone says of its cards: tokens, ends, and what the person allows.
///
/// What is reported is told once, whoever reports it and however often; what could not be told is
/// told later, in its newest form. ``run()`` does the telling.
public actor CardReporter {
  public nonisolated let client: FieldcastClient
  /// Your own ID of this person's device.
  public nonisolated let member: String
  public nonisolated let osVersion: String?
  /// Nil as the service is set up.
  public nonisolated let environment: PushEnvironment?

  /// What can be told about one thing; the newest is what counts.
  enum News: Hashable {
    case startToken(PushToken)
    case updateToken(PushToken, trip: String)
    case ended(trip: String, wasDismissed: Bool)
    case frequentUpdates(Bool)
  }

  private enum Subject: Hashable {
    case startToken
    case card(String)
    case settings(trip: String)
  }

  private var told: [Subject: News] = [:]
  private var waiting: [(subject: Subject, news: News)] = []
  private let bell = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
  private let onFailure: @Sendable (FieldcastError) -> Void
  private let wait: FieldcastClient.Waiting

  /// - Parameter onFailure: is told what the service would not take, such as a token of a card whose
  ///   trip is over. It is not told again.
  public init(
    client: FieldcastClient, member: String, osVersion: String? = CardReporter.systemVersion,
    environment: PushEnvironment? = nil,
    onFailure: @escaping @Sendable (FieldcastError) -> Void = { _ in }
  ) {
    self.init(
      client: client, member: member, osVersion: osVersion, environment: environment,
      onFailure: onFailure, wait: { try await Task.sleep(for: $0) })
  }

  init(
    client: FieldcastClient, member: String, osVersion: String?, environment: PushEnvironment?,
    onFailure: @escaping @Sendable (FieldcastError) -> Void,
    wait: @escaping FieldcastClient.Waiting
  ) {
    self.client = client
    self.member = member
    self.osVersion = osVersion
    self.environment = environment
    self.onFailure = onFailure
    self.wait = wait
  }

  /// Such as `18.2`: the system that this runs on.
  public static var systemVersion: String {
    let version = ProcessInfo.processInfo.operatingSystemVersion
    return "\(version.majorVersion).\(version.minorVersion)"
  }

  // MARK: What happened

  /// A token by which the service can start a card.
  public func startToken(_ token: Data) {
    add(.startToken(PushToken(token)), about: .startToken)
  }

  /// The update token of a card. Of a card that is over it is not told.
  public func updateToken(_ token: Data, of card: String, on trip: String) {
    add(.updateToken(PushToken(token), trip: trip), about: .card(card))
  }

  /// A card is over. The first end that is reported counts: what the app ends itself is reported
  /// first, so that the system's word that it is gone is not taken for the person's.
  public func cardEnded(_ card: String, on trip: String, wasDismissed: Bool) {
    add(.ended(trip: trip, wasDismissed: wasDismissed), about: .card(card))
  }

  /// The person lets frequent updates through, or no longer does.
  public func frequentUpdates(_ areAllowed: Bool, on trips: some Sequence<String>) {
    for trip in trips { add(.frequentUpdates(areAllowed), about: .settings(trip: trip)) }
  }

  private func add(_ news: News, about subject: Subject) {
    let place = waiting.firstIndex { $0.subject == subject }
    let latest = place.map { waiting[$0].news } ?? told[subject]
    if case .ended = latest { return }
    guard latest != news else { return }
    if let place {
      waiting[place].news = news
    } else {
      waiting.append((subject, news))
    }
    bell.continuation.yield()
  }

  // MARK: Telling

  /// Tells what there is to tell, until its task is cancelled.
  public func run() async {
    var pause = Duration.seconds(1)
    var rings = bell.stream.makeAsyncIterator()
    while !Task.isCancelled {
      guard let next = waiting.first else {
        guard await rings.next() != nil else { return }
        continue
      }
      do throws(FieldcastError) {
        try await tell(next.news, about: next.subject)
        done(next.subject, next.news)
        pause = .seconds(1)
      } catch {
        guard error.isWorthRepeating else {
          done(next.subject, next.news)
          onFailure(error)
          continue
        }
        // Another may fare better meanwhile.
        if waiting.first?.subject == next.subject { waiting.append(waiting.removeFirst()) }
        guard (try? await wait(max(pause, error.retryAfter ?? .zero))) != nil else { return }
        pause = min(pause * 2, .seconds(300))
      }
    }
  }

  private func done(_ subject: Subject, _ news: News) {
    told[subject] = news
    // There may be newer news by now.
    waiting.removeAll { $0.subject == subject && $0.news == news }
  }

  private func tell(_ news: News, about subject: Subject) async throws(FieldcastError) {
    switch (news, subject) {
    case (.startToken(let token), _):
      try await client.register(
        .pushToStart(token, member: member, environment: environment, osVersion: osVersion))
    case (.updateToken(let token, let trip), .card(let card)):
      try await client.register(
        .update(
          token, activityID: card, member: member, trip: trip, environment: environment,
          osVersion: osVersion))
    case (.ended(let trip, let wasDismissed), .card(let card)):
      try await client.cardEnded(card, wasDismissed: wasDismissed, member: member, trip: trip)
    case (.frequentUpdates(let areAllowed), .settings(let trip)):
      try await client.renew(Join(member: member, frequentUpdates: areAllowed), on: trip)
    default: break
    }
  }
}
