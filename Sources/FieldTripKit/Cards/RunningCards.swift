/// Which of several cards of one trip to keep.
///
/// The system ends a card after eight hours, and the server starts another before that: the newer one
/// is kept. A start may also arrive twice; of two that started together one is kept, the same on every
/// call. The others are to be ended.
public struct RunningCards<ActivityID: Comparable & Sendable>: Sendable {
  public let kept: ActivityID?
  public let surplus: [ActivityID]

  /// - Parameters:
  ///   - trip: the trip that the app is about to show.
  ///   - cards: the app's running activities with their attributes, in any order.
  ///   - known: the activity that the server knows, if it said one: kept before others that started
  ///     together with it.
  public init<Attributes: CardAttributes>(
    of trip: String, among cards: [(id: ActivityID, attributes: Attributes)],
    known: ActivityID? = nil
  ) {
    let all = cards.filter { $0.attributes.tripID == trip }
    let newest = all.compactMap(\.attributes.startedAt).max()
    let own = all.map(\.id).sorted()
    let newer = all.filter { $0.attributes.startedAt == newest }.map(\.id).sorted()
    let kept = newer.first { $0 == known } ?? newer.first
    self.kept = kept
    surplus = own.filter { $0 != kept }
  }
}
