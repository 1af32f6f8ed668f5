package import Clocks

/// Holds an app's sends back while APNs refuses its credentials.
///
/// A refusal of the key concerns every request, and APNs bans those who hammer. So the first one
/// closes the gate; then one request a minute passes as a probe, and the first accepted one opens
/// it again: a mended setting at Apple's end is found without a restart.
package struct CredentialGate: Sendable {
  package static let probeInterval = Duration.seconds(60)

  private enum State: Sendable {
    case untried
    case open
    /// Left by an acceptance only.
    case closed(APNsRefusal, nextProbe: Moment)
  }

  private var state = State.untried

  package init() {}

  package var credentials: APNsHealth.Credentials {
    switch state {
    case .untried: .untried
    case .open: .good
    case .closed(let refusal, _): .refused(refusal)
    }
  }

  /// - Returns: why a request must not be sent now; nil lets it pass, perhaps as a probe.
  package mutating func refusal(at now: Moment) -> APNsRefusal? {
    guard case .closed(let refusal, let nextProbe) = state else { return nil }
    if now < nextProbe { return refusal }
    state = .closed(refusal, nextProbe: now + Self.probeInterval)
    return nil
  }

  package mutating func accepted() { state = .open }

  /// A request was refused.
  ///
  /// - Returns: true when this closed the gate. Only reasons that Apple documents do: a 403 of
  ///   something between us and APNs is no verdict on the key.
  package mutating func refused(_ refusal: APNsRefusal, at now: Moment) -> Bool {
    guard refusal.disposition == .fixCredentials, refusal.reason?.documentedStatus != nil else {
      return false
    }
    var wasOpen = true
    if case .closed = state { wasOpen = false }
    state = .closed(refusal, nextProbe: now + Self.probeInterval)
    return wasOpen
  }
}
