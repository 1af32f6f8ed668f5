/// A job that runs elsewhere, its progress and its outcome.
public struct JobProgressAttributes: CardAttributes {
  public struct ContentState: Codable, Hashable, Sendable {
    public var stage: Stage
    /// From 0 to 1.
    public var progress: Double
    /// Who reported last.
    public var sender: String?
    /// Nil until the job is over.
    public var result: Outcome?

    public init(
      stage: Stage, progress: Double = 0, sender: String? = nil, result: Outcome? = nil
    ) {
      self.stage = stage
      self.progress = progress
      self.sender = sender
      self.result = result
    }
  }

  public struct Stage: OpenValue {
    public static let queued = Stage(rawValue: "queued")
    public static let running = Stage(rawValue: "running")
    public static let finished = Stage(rawValue: "finished")

    public let rawValue: String

    public init(rawValue: String) { self.rawValue = rawValue }
  }

  public static var activityType: String { "job-progress" }

  public var name: String
  public var tripID: String
  public var startedAt: Int?

  public init(name: String, tripID: String, startedAt: Int? = nil) {
    self.name = name
    self.tripID = tripID
    self.startedAt = startedAt
  }
}

extension JobProgressAttributes {
  /// How a job ended: an object with one member, named as the case.
  public enum Outcome: Codable, Hashable, Sendable {
    case succeeded(summary: String, link: String?)
    case failed(message: String, code: Int?)
    case cancelled(by: String?)
    /// One that this build does not know, by its name.
    case other(String)

    public init(from decoder: any Decoder) throws {
      let container = try decoder.container(keyedBy: Name.self)
      guard let name = container.allKeys.first else {
        throw DecodingError.dataCorrupted(
          .init(codingPath: decoder.codingPath, debugDescription: "The outcome has no name."))
      }
      func values() throws -> KeyedDecodingContainer<Value> {
        try container.nestedContainer(keyedBy: Value.self, forKey: name)
      }
      switch name.stringValue {
      case "succeeded":
        self = .succeeded(
          summary: try values().decode(String.self, forKey: .summary),
          link: try values().decodeIfPresent(String.self, forKey: .link))
      case "failed":
        self = .failed(
          message: try values().decode(String.self, forKey: .message),
          code: try values().decodeIfPresent(Int.self, forKey: .code))
      case "cancelled":
        self = .cancelled(by: try values().decodeIfPresent(String.self, forKey: .by))
      default: self = .other(name.stringValue)
      }
    }

    public func encode(to encoder: any Encoder) throws {
      var container = encoder.container(keyedBy: Name.self)
      switch self {
      case .succeeded(let summary, let link):
        var values = container.nestedContainer(keyedBy: Value.self, forKey: Name("succeeded"))
        try values.encode(summary, forKey: .summary)
        try values.encodeIfPresent(link, forKey: .link)
      case .failed(let message, let code):
        var values = container.nestedContainer(keyedBy: Value.self, forKey: Name("failed"))
        try values.encode(message, forKey: .message)
        try values.encodeIfPresent(code, forKey: .code)
      case .cancelled(let person):
        var values = container.nestedContainer(keyedBy: Value.self, forKey: Name("cancelled"))
        try values.encodeIfPresent(person, forKey: .by)
      case .other(let name):
        // The system encodes a state once more on its way to the card: the name must survive that.
        _ = container.nestedContainer(keyedBy: Value.self, forKey: Name(name))
      }
    }

    private struct Name: CodingKey {
      let stringValue: String

      init(_ name: String) { stringValue = name }
      init?(stringValue: String) { self.init(stringValue) }

      var intValue: Int? { nil }
      init?(intValue: Int) { nil }
    }

    private enum Value: String, CodingKey {
      case summary, link, message, code, by
    }
  }
}
