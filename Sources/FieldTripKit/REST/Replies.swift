public import Foundation

// What a service does not say is nil here, and what this build does not know is passed over: a
// service may be older than the app, or newer.

/// What the service says of a trip.
public struct TripReply<Attributes: CardAttributes>: Decodable, Hashable, Sendable {
  /// The trip's ID.
  public let trip: String
  public let name: String
  public let phase: TripPhase
  /// Whether members are reached by the channel or by token, and the channel itself.
  public let reach: String?
  public let channel: Channel?
  public let attributes: Attributes?
  public let contentState: Attributes.ContentState
  /// Counts the changes of the content-state.
  public let revision: Int
  /// The last revision that APNs accepted.
  public let publishedRevision: Int
  /// How many members are reached in which way.
  public let members: [String: Int]?
  public let startsAt: Date
  public let endsAt: Date
  /// Seconds after which a card that heard nothing is stale.
  public let staleAfter: Int?
  /// Sentences about what the service took and may surprise.
  public let warnings: [String]?

  public struct Channel: Decodable, Hashable, Sendable {
    /// `opening`, `open`, `deletionDue`, `deleted` or `unavailable`.
    public let status: String
    public let id: String?
    /// `mostRecent` or `none`.
    public let storage: String?
  }
}

/// How far a trip is.
public struct TripPhase: OpenValue {
  public static let scheduled = TripPhase(rawValue: "scheduled")
  public static let live = TripPhase(rawValue: "live")
  public static let ending = TripPhase(rawValue: "ending")
  public static let ended = TripPhase(rawValue: "ended")

  public let rawValue: String

  public init(rawValue: String) { self.rawValue = rawValue }
}

/// All that an app needs to start its card at once, with the present state.
public struct JoinReply<Attributes: CardAttributes>: Decodable, Hashable, Sendable {
  public let trip: String
  public let member: String
  public let reach: MemberReach
  /// The card that the service knows already, if it has a token: see ``RunningCards``.
  public let activityID: String?
  /// For `pushType: .channel(…)`; nil when the trip has none, and the card takes `.token`.
  public let channelID: String?
  public let attributes: Attributes
  public let contentState: Attributes.ContentState
  public let revision: Int
  /// Give it to the card: one that never hears from the service would look alive for ever.
  public let staleDate: Date?
  public let endsAt: Date
}

/// How a member's card gets what it shows.
public struct MemberReach: OpenValue {
  public static let channel = MemberReach(rawValue: "channel")
  public static let updateToken = MemberReach(rawValue: "updateToken")
  /// By push a card can be started that is not there yet.
  public static let startToken = MemberReach(rawValue: "startToken")
  public static let none = MemberReach(rawValue: "none")

  public let rawValue: String

  public init(rawValue: String) { self.rawValue = rawValue }
}

/// What became of notes that were handed in together, in their order.
public struct NotesReply: Decodable, Hashable, Sendable {
  public let notes: [Note]

  public struct Note: Decodable, Hashable, Sendable {
    /// Nil when the note had no ID that could be read.
    public let id: String?
    public let status: Status
    /// Its place in the service's log.
    public let position: String?
    /// The kind of problem, such as `bad-date`, and a sentence, where the note was refused.
    public let problem: String?
    public let detail: String?

    /// Whether the service could not take it just then, and may later.
    public var isWorthRepeating: Bool {
      let passing: Set = ["backlog-full", "store-unavailable", "store-full", "starting"]
      return status == .refused && problem.map(passing.contains) ?? false
    }
  }

  public struct Status: OpenValue {
    public static let accepted = Status(rawValue: "accepted")
    /// The service had it already: it counts once.
    public static let duplicate = Status(rawValue: "duplicate")
    public static let refused = Status(rawValue: "refused")

    public let rawValue: String

    public init(rawValue: String) { self.rawValue = rawValue }
  }
}

/// A token that the service keeps now. It never sends back the token itself.
public struct TokenReply: Decodable, Hashable, Sendable {
  public let kind: String?
  public let activityID: String?
  public let member: String?
  public let trip: String?
  public let reach: MemberReach?
  public let environment: String?
}

/// Why a request was not taken (RFC 9457).
public struct ProblemReply: Decodable, Error, Hashable, Sendable {
  public struct Detail: Decodable, Hashable, Sendable {
    /// A stable name, such as `badDate`.
    public let code: String
    /// Which part of the request, as a JSON Pointer.
    public let pointer: String?
    /// A sentence.
    public let message: String
  }

  /// Names the kind of problem, and never changes: `urn:fieldcast:problem:ended-trip`.
  public let type: String
  public let title: String
  public let status: Int
  public let detail: String
  public let errors: [Detail]?

  /// The last part of ``type``: `ended-trip`.
  public var kind: String { type.split(separator: ":").last.map(String.init) ?? type }
}
