public import HTTP

/// Why a request has no answer of APNs.
public enum APNsFailure: Error, Sendable, CustomStringConvertible {
  /// No connection, or none that took or answered the request in time.
  case exchange(ExchangeFailure)
  /// APNs refuses this app's credentials, so nothing is sent but a probe a minute.
  case credentialsRefused(APNsRefusal)
  /// No provider token could be made.
  case noProviderToken(ProviderCredentials.Failure)
  /// The payload breaks a rule, so APNs would refuse it.
  case payload(PayloadError)
  /// The push breaks another rule of APNs.
  case rule(PushRuleError)
  /// The client's certificate is of no use any more.
  case setup(APNsSetupError)

  init(_ failure: ExchangeFailure) {
    if let refusal = failure.goAway?.credentialsRefusal {
      self = .credentialsRefused(refusal)
    } else {
      self = .exchange(failure)
    }
  }

  public var description: String {
    switch self {
    case .exchange(let failure): failure.message
    case .credentialsRefused(let refusal):
      "Not sent, since APNs refuses this app's credentials "
        + "(\(refusal.status) \(refusal.reason?.text ?? "")). Check team ID, key ID, key and "
        + "environment."
    case .noProviderToken(let failure): failure.description
    case .payload(let error): error.description
    case .rule(let error): error.description
    case .setup(let error): error.description
    }
  }
}

/// What became of a broadcast.
public enum BroadcastResult: Sendable {
  /// APNs took it. That says nothing about any phone.
  ///
  /// - Parameter uniqueID: Apple's name of this message, to quote when asking Apple about it.
  case accepted(uniqueID: String?, requestID: String)
  case refused(APNsRefusal)
  /// APNs has certainly not seen it. Send the newest state instead of this one.
  case notSent(APNsFailure)
  /// APNs may have seen it. Never send the same bytes again: their timestamp is used.
  case unknown(APNsFailure)
}

/// What became of a call of channel management.
public enum ChannelResult<Value: Sendable>: Sendable {
  case done(Value)
  case refused(APNsRefusal)
  /// APNs answered well and in a form that Apple does not document: conclude nothing.
  case malformed(MalformedReply)
  case notSent(APNsFailure)
  /// It may have happened. A channel may have been made whose ID is not known.
  case unknown(APNsFailure)

  /// The value, or an error to show.
  public func get() throws -> Value {
    switch self {
    case .done(let value): return value
    case .refused(let refusal): throw refusal
    case .malformed(let reply): throw reply
    case .notSent(let failure), .unknown(let failure): throw failure
    }
  }
}

/// Whether an app can send, as far as is known.
public struct APNsHealth: Sendable {
  /// Whether APNs takes the credentials.
  public enum Credentials: Sendable {
    /// Nothing was accepted or refused yet.
    case untried
    case good
    /// Refused; the app's sends stop, but for a probe a minute.
    case refused(APNsRefusal)
  }

  /// What APNs said of the credentials last.
  public var credentials: Credentials
  /// The connections for broadcasts.
  public var broadcasts: ConnectionPoolStatus
  /// The connections for channels.
  public var management: ConnectionPoolStatus
  /// The connections for pushes to devices.
  public var pushes: ConnectionPoolStatus

  /// Why nothing can be sent, for a readiness check; nil while things can.
  public var problem: String? {
    if case .refused(let refusal) = credentials {
      return "\(APNsFailure.credentialsRefused(refusal))"
    }
    return broadcasts.connectProblem ?? management.connectProblem ?? pushes.connectProblem
  }
}
