#if canImport(ActivityKit) && !targetEnvironment(macCatalyst) && (os(iOS) || os(Linux))
  public import ActivityKit
  public import Foundation

  /// The app's cards of one kind, kept in step with the service.
  ///
  /// ``run()`` forwards what the system says of them for as long as the app lives, also when the
  /// system has started it in the background because a push started a card. An `Activity` belongs to
  /// no actor and may not be handed from one to another, so each step here looks its own one up.
  @available(iOS 16.2, *)
  public struct TripCards<Attributes: CardAttributes & ActivityAttributes>: Sendable {
    /// Tells the service; one for the whole app.
    public let reporter: CardReporter

    public init(reporter: CardReporter) { self.reporter = reporter }

    /// Why a card was not started.
    public enum Failure: Error, Hashable, Sendable {
      /// The person has switched Live Activities off for this app.
      case notAllowed
    }

    // MARK: Showing a trip

    /// Joins a trip and shows its card, at once and with the present state: on the trip's channel, or
    /// below iOS 18 by token. A card that is there already is kept, and brought up to date.
    ///
    /// The app must be in the foreground, or run a `LiveActivityIntent`.
    ///
    /// - Returns: the card's ID.
    /// - Throws: ``FieldcastError``, ``Failure``, or what the system says to a start.
    @concurrent
    public func join(_ trip: String, deviceToken: Data? = nil) async throws -> String {
      let reply = try await joined(trip, deviceToken: deviceToken)
      return try await show(reply)
    }

    /// Joins a trip that begins later, and has the system show its card then, without the app.
    ///
    /// Members with a push-to-start token are also started by the service. If both happen, one card
    /// is kept.
    ///
    /// - Parameter alert: what the system says when the card appears.
    /// - Returns: the card's ID.
    @available(iOS 26.0, *)
    @concurrent
    public func schedule(
      _ trip: String, at start: Date, alert: AlertConfiguration
    ) async throws -> String {
      let reply = try await joined(trip, deviceToken: nil)
      if let kept = await tidy(trip, known: reply.activityID) { return kept }
      let activity = try Activity.request(
        attributes: reply.attributes, content: reply.content, pushType: reply.pushType,
        style: .standard, alertConfiguration: alert, start: start)
      return activity.id
    }

    /// Shows the card that a join has answered with.
    ///
    /// - Returns: the card's ID.
    @concurrent
    public func show(_ reply: JoinReply<Attributes>) async throws -> String {
      if let kept = await tidy(reply.trip, known: reply.activityID) {
        await Self.card(kept)?.update(reply.content)
        return kept
      }
      let activity = try Activity.request(
        attributes: reply.attributes, content: reply.content, pushType: reply.pushType)
      return activity.id
    }

    /// Leaves a trip, and takes its cards off this phone at once, also when the service cannot be
    /// reached.
    @concurrent
    public func leave(_ trip: String) async throws {
      await endCards(of: trip)
      try await reporter.client.leave(trip, member: reporter.member)
    }

    /// Takes a trip's cards off this phone.
    @concurrent
    public func endCards(of trip: String) async {
      for card in Self.running where card.attributes.tripID == trip {
        await end(card.id, of: trip)
      }
    }

    private func joined(
      _ trip: String, deviceToken: Data?
    ) async throws -> JoinReply<Attributes> {
      let permission = ActivityAuthorizationInfo()
      guard permission.areActivitiesEnabled else { throw Failure.notAllowed }
      let join = Join(
        member: reporter.member, osVersion: reporter.osVersion, environment: reporter.environment,
        deviceToken: deviceToken.map { PushToken($0) },
        pushToStartToken: Self.startToken.map { PushToken($0) },
        frequentUpdates: permission.frequentPushesEnabled)
      return try await reporter.client.join(trip, as: join)
    }

    // MARK: One card for each trip

    /// Ends all cards of a trip but one.
    ///
    /// - Returns: the one that is kept; nil if there is none.
    @concurrent
    @discardableResult
    func tidy(_ trip: String, known: String? = nil) async -> String? {
      let cards = RunningCards(
        of: trip, among: Self.running.map { ($0.id, $0.attributes) }, known: known)
      for id in cards.surplus { await end(id, of: trip) }
      return cards.kept
    }

    @concurrent
    private func end(_ id: String, of trip: String) async {
      // Before the system says that it is gone: it was not the person who swiped it away.
      await reporter.cardEnded(id, on: trip, wasDismissed: false)
      await Self.card(id)?.end(nil, dismissalPolicy: .immediate)
    }

    static func card(_ id: String) -> Activity<Attributes>? {
      Activity<Attributes>.activities.first { $0.id == id }
    }

    /// Those that still change: the list of the system also has cards that are over.
    static var running: [Activity<Attributes>] {
      Activity<Attributes>.activities.filter {
        $0.activityState != .ended && $0.activityState != .dismissed
      }
    }

    private static var startToken: Data? {
      if #available(iOS 17.2, *) { Activity<Attributes>.pushToStartToken } else { nil }
    }
  }

  @available(iOS 16.2, *)
  extension JoinReply where Attributes: ActivityAttributes {
    /// The card's first content. Its stale date is the service's, so that a card that never hears
    /// from it says so.
    public var content: ActivityContent<Attributes.ContentState> {
      ActivityContent(state: contentState, staleDate: staleDate)
    }

    /// The trip's channel, or a token of the card's own where there is no channel or no system that
    /// knows channels.
    public var pushType: PushType {
      if #available(iOS 18.0, *), let channelID { return .channel(channelID) }
      return .token
    }
  }
#endif
