/// Which of several cards of one trip to keep.
///
/// A start may arrive twice, and the phone cannot tell which card is the newer one of two with equal
/// attributes. So one card is kept, the same on every call, and the others are to be ended.
public struct RunningCards<ActivityID: Comparable & Sendable>: Sendable {
  public let kept: ActivityID?
  public let surplus: [ActivityID]

  /// - Parameters:
  ///   - trip: the trip that the app is about to show.
  ///   - cards: the app's running activities with their attributes, in any order.
  ///   - known: the activity that the server knows, if it said one: kept before others.
  public init(
    of trip: String, among cards: [(id: ActivityID, attributes: FieldTripAttributes)],
    known: ActivityID? = nil
  ) {
    let own = cards.filter { $0.attributes.tripID == trip }.map(\.id).sorted()
    let kept = own.first { $0 == known } ?? own.first
    self.kept = kept
    surplus = own.filter { $0 != kept }
  }
}
