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

  private let probeInterval: Duration
  private var state = State.untried

  package init(probeInterval: Duration = Self.probeInterval) { self.probeInterval = probeInterval }

  package var credentials: APNsHealth.Credentials {
    switch state {
    case .untried: .untried
    case .open: .good
    case .closed(let refusal, _): .refused(refusal)
    }
  }

  /// Why requests are held back, but for the one that ``refusal(at:)`` lets pass; nil when none is.
  package var closedFor: APNsRefusal? {
    if case .closed(let refusal, _) = state { refusal } else { nil }
  }

  /// - Returns: why a request must not be sent now; nil lets it pass, perhaps as a probe.
  package mutating func refusal(at now: Moment) -> APNsRefusal? {
    guard case .closed(let refusal, let nextProbe) = state else { return nil }
    if now < nextProbe { return refusal }
    state = .closed(refusal, nextProbe: now + probeInterval)
    return nil
  }

  package mutating func accepted() { state = .open }

  /// A request was refused.
  ///
  /// - Returns: true when this closed the gate.
  package mutating func refused(_ refusal: APNsRefusal, at now: Moment) -> Bool {
    guard refusal.concernsAll else { return false }
    var wasOpen = true
    if case .closed = state { wasOpen = false }
    state = .closed(refusal, nextProbe: now + probeInterval)
    return wasOpen
  }
}

extension APNsRefusal {
  /// Whether everything sent with these credentials will be refused. Only reasons that Apple
  /// documents say so: a 403 of something between us and APNs is no verdict on the key.
  var concernsAll: Bool {
    disposition == .fixCredentials && reason?.documentedStatus != nil
  }
}
