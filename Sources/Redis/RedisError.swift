/// What can come of a Redis command besides its reply.
package enum RedisError: Error, Sendable, Equatable, CustomStringConvertible {
  /// The server answered that it will not. The command had no effect; a script may have had some
  /// before the command in it that failed.
  case refused(RedisRefusal)
  /// The command never left this process, so it had no effect.
  case notSent(RedisFailure)
  /// The command may have left this process and no answer came: it may have had its effect.
  case unknownOutcome(RedisFailure)
  /// The reply is not what the command promises. The text says what was expected and what came.
  case unexpectedReply(String)
  /// A setting that cannot be used, such as a URL; found before anything is sent.
  case invalidSetting(String)

  package var description: String {
    switch self {
    case .refused(let refusal): refusal.description
    case .notSent(let failure): "\(failure) The command was not sent."
    case .unknownOutcome(let failure):
      "\(failure) Whether the command took effect is not known."
    case .unexpectedReply(let text): text
    case .invalidSetting(let text): text
    }
  }

  /// The server's error, when it was one.
  package var refusal: RedisRefusal? {
    if case .refused(let refusal) = self { refusal } else { nil }
  }

  /// The connection's failure, when it was one.
  package var failure: RedisFailure? {
    switch self {
    case .notSent(let failure), .unknownOutcome(let failure): failure
    default: nil
    }
  }
}

/// Why a command got no answer.
package struct RedisFailure: Error, Sendable, Equatable, CustomStringConvertible {
  package enum Kind: Sendable, Equatable {
    /// No connection could be made, or the server refused us when we introduced ourselves.
    case cannotConnect
    /// The connection ended while the command was under way.
    case lost
    /// No answer within the command's deadline.
    case deadline
    /// More commands wait than the configuration allows.
    case queueFull
    /// We are closing.
    case closing
    /// The server did it, and fewer replicas than are asked for have confirmed that in time.
    case notReplicated
    /// The other side does not speak RESP2, or sent more than we accept.
    case protocolViolation
  }

  package let kind: Kind
  /// Sentences for the person who reads the log; no passwords, no values.
  package let description: String
  /// The server's error, when that is why there is no connection: a wrong password, a replica.
  package let refusal: RedisRefusal?

  package init(_ kind: Kind, _ description: String, refusal: RedisRefusal? = nil) {
    self.kind = kind
    self.description = description
    self.refusal = refusal
  }
}
