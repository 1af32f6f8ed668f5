/// What is done about a command that a node of a cluster did not carry out.
///
/// A refusal says that the command did not run: scripts are refused before their first line, since
/// they declare by `#!lua` what they need and name all their keys. So it may always be sent again.
/// Only when an answer is missing may a command have run; then it is sent again if twice is as good
/// as once, as of reads and of scripts that find what they did.
enum ClusterRemedy: Equatable {
  /// The caller hears of it.
  case none
  /// Send it, with its script's source.
  case sendInFull
  /// Send it to this node, which has the slot now.
  case follow(RedisAddress, slot: Int)
  /// Send it to this node, behind `ASKING`: the slot is on its way there.
  case ask(RedisAddress)
  /// Send it after a pause.
  case wait
  /// Look who serves the slot, and send it there.
  case lookAgain

  /// - Parameter asked: the node that answered; one that does not know its host leaves it out.
  init(for error: RedisError, isRepeatable: Bool, askedAt asked: String) {
    switch error {
    case .refused(let refusal): self = .of(refusal, askedAt: asked)
    case .notSent(let failure): self = failure.isOfOneConnection ? .lookAgain : .none
    case .unknownOutcome(let failure):
      self = isRepeatable && failure.isOfOneConnection ? .lookAgain : .none
    case .unexpectedReply, .invalidSetting: self = .none
    }
  }

  private static func of(_ refusal: RedisRefusal, askedAt asked: String) -> ClusterRemedy {
    func address(_ host: String, _ port: Int) -> RedisAddress {
      RedisAddress(host: host.isEmpty || host == "?" ? asked : host, port: port)
    }
    switch refusal.kind {
    case .noScript: return .sendInFull
    case .moved(let slot, let host, let port): return .follow(address(host, port), slot: slot)
    case .ask(_, let host, let port): return .ask(address(host, port))
    case .tryAgain, .busy, .unblocked: return .wait
    case .loading, .clusterDown, .readOnly, .masterDown: return .lookAgain
    default: return .none
    }
  }
}

extension RedisFailure {
  /// Whether another connection may fare better.
  fileprivate var isOfOneConnection: Bool {
    switch kind {
    case .lost, .closing, .cannotConnect, .notReplicated: true
    case .deadline, .queueFull, .protocolViolation: false
    }
  }
}
