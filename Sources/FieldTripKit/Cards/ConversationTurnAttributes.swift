/// One turn of a conversation with an assistant, from sending to the answer.
public struct ConversationTurnAttributes: CardAttributes {
  public struct ContentState: Codable, Hashable, Sendable {
    public var phase: Phase

    public init(phase: Phase) { self.phase = phase }
  }

  public struct Phase: OpenValue {
    public static let sending = Phase(rawValue: "sending")
    public static let thinking = Phase(rawValue: "thinking")
    public static let answered = Phase(rawValue: "answered")

    public let rawValue: String

    public init(rawValue: String) { self.rawValue = rawValue }
  }

  public static var activityType: String { "conversation-turn" }

  public var name: String
  public var tripID: String
  public var startedAt: Int?

  public init(name: String, tripID: String, startedAt: Int? = nil) {
    self.name = name
    self.tripID = tripID
    self.startedAt = startedAt
  }
}
