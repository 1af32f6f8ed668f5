#if canImport(ActivityKit) && !targetEnvironment(macCatalyst) && (os(iOS) || os(Linux))
  internal import ActivityKit
  internal import Foundation

  @available(iOS 16.2, *)
  extension TripCards {
    /// Forwards what the system says of the cards, until its task is cancelled: tokens to start and
    /// to update them, those that a push has started, how they end, and what the person allows.
    ///
    /// Call it when the app is launched, in the background too: the system launches an app whose card
    /// was started by push, and gives it little time.
    @concurrent
    public func run() async {
      await withTaskGroup(of: Void.self) { group in
        group.addTask { await forwardStartTokens() }
        group.addTask { await forwardFrequentUpdates() }
        group.addTask { await followCards() }
      }
    }

    /// The property as well as the stream: on some launches the stream says nothing.
    @concurrent
    private func forwardStartTokens() async {
      guard #available(iOS 17.2, *) else { return }
      if let token = Activity<Attributes>.pushToStartToken { await reporter.startToken(token) }
      for await token in Activity<Attributes>.pushToStartTokenUpdates {
        await reporter.startToken(token)
      }
    }

    @concurrent
    private func forwardFrequentUpdates() async {
      for await areAllowed in ActivityAuthorizationInfo().frequentPushEnablementUpdates {
        let trips = Set(Self.running.map(\.attributes.tripID))
        await reporter.frequentUpdates(areAllowed, on: trips)
      }
    }

    /// Follows the cards that are there, and each that comes, whoever started it.
    @concurrent
    private func followCards() async {
      await withTaskGroup(of: Void.self) { group in
        var followed: Set<String> = []
        // Before the list is read, so that none that comes meanwhile is missed.
        let updates = Activity<Attributes>.activityUpdates.makeAsyncIterator()
        for card in Activity<Attributes>.activities {
          let id = card.id
          followed.insert(id)
          group.addTask { await follow(id) }
        }
        while let card = await updates.next() {
          let (id, trip) = (card.id, card.attributes.tripID)
          if followed.insert(id).inserted { group.addTask { await follow(id) } }
          await tidy(trip)
        }
      }
    }

    @concurrent
    private func follow(_ id: String) async {
      await withTaskGroup(of: Void.self) { group in
        group.addTask { await forwardTokens(of: id) }
        group.addTask { await forwardEnd(of: id) }
      }
    }

    /// A card on a channel has no token, and says none.
    @concurrent
    private func forwardTokens(of id: String) async {
      guard let card = Self.card(id) else { return }
      let trip = card.attributes.tripID
      guard card.activityState != .ended, card.activityState != .dismissed else { return }
      if let token = card.pushToken { await reporter.updateToken(token, of: id, on: trip) }
      for await token in card.pushTokenUpdates {
        await reporter.updateToken(token, of: id, on: trip)
      }
    }

    /// A card that goes without having ended was swiped away.
    @concurrent
    private func forwardEnd(of id: String) async {
      guard let card = Self.card(id) else { return }
      let trip = card.attributes.tripID
      // One that ended while the app did not run.
      if card.activityState == .ended {
        await reporter.cardEnded(id, on: trip, wasDismissed: false)
      }
      for await state in card.activityStateUpdates {
        switch state {
        case .ended: await reporter.cardEnded(id, on: trip, wasDismissed: false)
        case .dismissed: await reporter.cardEnded(id, on: trip, wasDismissed: true)
        default: break
        }
      }
    }
  }
#endif
