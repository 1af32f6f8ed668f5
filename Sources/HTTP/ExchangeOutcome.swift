/// What became of a request. Every request has exactly one of these.
///
/// The three differ in what a caller may do: read the answer; send the same bytes again without
/// risk of doing the work twice; or think, since the other side may have done it.
package enum ExchangeOutcome: Sendable {
  case answered(HTTPResponse)
  /// The other side did certainly not process it: never written, refused, or above the last stream
  /// of a GOAWAY. Safe to send again, on another connection where this one is draining.
  case notSent(ExchangeFailure)
  /// It left us and no answer came: whether the other side acted on it is not known.
  case unknown(ExchangeFailure)

  package var response: HTTPResponse? {
    if case .answered(let response) = self { response } else { nil }
  }

  package var failure: ExchangeFailure? {
    switch self {
    case .answered: nil
    case .notSent(let failure), .unknown(let failure): failure
    }
  }
}

/// Why a request has no answer.
public struct ExchangeFailure: Error, Sendable, Hashable, CustomStringConvertible {
  /// What kind of failure it is, for those who act on it.
  public enum Kind: Sendable, Hashable {
    /// The request's deadline passed.
    case deadline
    /// The task that waited was cancelled.
    case cancelled
    /// The queue for a free stream was full: a limit of ours.
    case queueFull
    /// The peer reset the stream before looking at it (`REFUSED_STREAM`).
    case refusedStream
    /// The peer reset the stream with this HTTP/2 error code.
    case reset(UInt32)
    /// The peer is going away and will not process the request.
    case goAway(GoAway)
    /// This connection takes no new requests: it is draining, or out of stream IDs.
    case draining
    /// The connection ended, was never made, or broke the protocol.
    case connectionLost
    /// The answer had more bytes or fields than we take.
    case responseTooLarge
    /// The answer broke HTTP's rules.
    case malformedResponse
    /// What we were asked to send may not travel: a field name in upper case, a line break.
    case malformedRequest
  }

  /// For programs.
  public var kind: Kind
  /// For the log: what happened, with numbers.
  public var message: String

  /// A failure with its words for the log.
  public init(_ kind: Kind, _ message: String) {
    self.kind = kind
    self.message = message
  }

  public var description: String { message }
}

/// A peer's announcement that a connection ends.
public struct GoAway: Sendable, Hashable {
  /// Streams above this one were not and will not be processed.
  public var lastStreamID: Int32
  /// An HTTP/2 error code; 0 is an ordinary end.
  public var errorCode: UInt32
  /// What the peer said about it, APNs for one a JSON object with a `reason`. At most
  /// ``debugDataLimitBytes``, the rest is cut.
  public var debugData: [UInt8]

  /// Enough for every reason that was ever seen, and no more than a log line should hold.
  public static let debugDataLimitBytes = 1024

  /// As the frame had it.
  public init(lastStreamID: Int32, errorCode: UInt32, debugData: [UInt8] = []) {
    self.lastStreamID = lastStreamID
    self.errorCode = errorCode
    self.debugData = debugData
  }
}
