/// What never changes on a field trip's card.
///
/// On iOS this is the `ActivityAttributes` of the Live Activity; its name is the `attributes-type`
/// of a remote start.
public struct FieldTripAttributes: Codable, Hashable, Sendable {
  /// What the card shows, replaced as a whole by each update. Property names are the keys on the
  /// wire; a property that is added must be optional, since cards outlive the build that started
  /// them.
  public struct ContentState: Codable, Hashable, Sendable {
    public var notesCaptured: Int
    /// Nil until a note says where it was captured.
    public var lastPlaceName: String?

    public init(notesCaptured: Int, lastPlaceName: String? = nil) {
      self.notesCaptured = notesCaptured
      self.lastPlaceName = lastPlaceName
    }
  }

  public var name: String
  public var notebook: String
  /// The server's ID of the trip, in lower case: tells two cards of one trip from two trips.
  public var tripID: String
  /// When this card was started, in seconds since 1970: tells a card from the one that it follows.
  public var startedAt: Int?

  public init(name: String, notebook: String, tripID: String, startedAt: Int? = nil) {
    self.name = name
    self.notebook = notebook
    self.tripID = tripID
    self.startedAt = startedAt
  }
}
