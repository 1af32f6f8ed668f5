public import Foundation

/// What the server says of a trip.
public struct TripReply: Decodable, Hashable, Sendable {
  /// The trip's ID.
  public let trip: String
  public let name: String
  /// `scheduled`, `live`, `ending` or `ended`.
  public let phase: String
  public let contentState: FieldTripAttributes.ContentState
  /// Counts the changes of the content-state.
  public let revision: Int
  /// The last revision that APNs accepted.
  public let publishedRevision: Int
  public let startsAt: Date
  public let endsAt: Date
  /// Sentences about what the server took and may surprise.
  public let warnings: [String]?
}

/// All that an app needs to start its card at once, with the present state.
public struct JoinReply: Decodable, Hashable, Sendable {
  public let trip: String
  public let member: String
  /// `channel`, `updateToken`, `startToken` or `none`.
  public let reach: String
  /// The card that the server knows already, if it has a token: see ``RunningCards``.
  public let activityID: String?
  /// For `pushType: .channel(…)`; nil when the trip has none, and the card takes `.token`.
  public let channelID: String?
  public let attributes: FieldTripAttributes
  public let contentState: FieldTripAttributes.ContentState
  public let revision: Int
  /// Give it to the card: one that never hears from the server would look alive for ever.
  public let staleDate: Date?
  public let endsAt: Date
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

  /// Names the kind of problem, and never changes.
  public let type: String
  public let title: String
  public let status: Int
  public let detail: String
  public let errors: [Detail]?
}
