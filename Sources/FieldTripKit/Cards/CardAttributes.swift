/// What never changes on a card of some kind, and with it what the card shows.
///
/// On iOS such a struct is the `ActivityAttributes` of the Live Activity; its name is the
/// `attributes-type` of a remote start, so it must not be renamed.
public protocol CardAttributes: Codable, Hashable, Sendable {
  /// What the card shows, replaced as a whole by each update.
  ///
  /// Property names are the keys on the wire. A card outlives the build that started it, and is
  /// decoded by whatever build is installed: a property that is added must be optional, and what
  /// has a fixed list of values today must take others.
  associatedtype ContentState: Codable, Hashable, Sendable

  /// The kind of card as requests name it, such as `field-trip`.
  static var activityType: String { get }

  var name: String { get }
  /// The service's ID of the trip, in lower case: tells two cards of one trip from two trips.
  var tripID: String { get }
  /// When this card was started, in seconds since 1970: tells a card from the one that it follows.
  var startedAt: Int? { get }
}

extension CardAttributes {
  /// The name that remote starts and replies give this struct.
  public static var attributesType: String { "\(Self.self)" }
}
