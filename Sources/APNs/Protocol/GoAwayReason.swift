public import HTTP

extension GoAway {
  /// Why APNs ends the connection, in the words of its reasons; nil when it does not say.
  public var reason: APNsReason? { RefusalBody(debugData)?.reason }

  /// The refusal of the client's credentials that this is, if it is one: APNs was seen to say so of
  /// certificates in this frame, and not in an answer.
  var credentialsRefusal: APNsRefusal? {
    guard let reason, let status = reason.documentedStatus else { return nil }
    let refusal = APNsRefusal(status: status, reason: reason)
    return refusal.disposition == .fixCredentials ? refusal : nil
  }
}

extension ExchangeFailure {
  var goAway: GoAway? { if case .goAway(let announcement) = kind { announcement } else { nil } }
}
