/// A group on a walk: how many notes were captured, and where the last one.
public struct FieldTripAttributes: CardAttributes {
  public struct ContentState: Codable, Hashable, Sendable {
    public var notesCaptured: Int
    /// Nil until a note says where it was captured.
    public var lastPlaceName: String?

    public init(notesCaptured: Int, lastPlaceName: String? = nil) {
      self.notesCaptured = notesCaptured
      self.lastPlaceName = lastPlaceName
    }
  }

  public static var activityType: String { "field-trip" }

  public var name: String
  public var notebook: String
  public var tripID: String
  public var startedAt: Int?

  public init(name: String, notebook: String, tripID: String, startedAt: Int? = nil) {
    self.name = name
    self.notebook = notebook
    self.tripID = tripID
    self.startedAt = startedAt
  }
}
