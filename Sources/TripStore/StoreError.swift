internal import Redis

/// Why a call to the store has no answer.
///
/// What the store's rules refuse (a fenced owner, an ended trip, a duplicate) is not an error but
/// part of a call's answer. After any of these but ``unknownOutcome(_:)`` nothing was changed.
package enum StoreError: Error, Sendable, Equatable, CustomStringConvertible {
  /// Redis cannot be reached, or takes nothing now: loading, failing over, too many calls waiting.
  /// The call had no effect. Try again later; answer 503.
  case unreachable(String)
  /// The call may have had its effect. Every call of the store may be made again as it was: the
  /// second time it finds what the first one did.
  case unknownOutcome(String)
  /// `maxmemory` is reached. What takes in is refused; what an owner does goes on, so that memory
  /// becomes free again.
  case outOfMemory(String)
  /// The server is a replica, or became one.
  case readOnly(String)
  /// Our user or password may not do this.
  case notPermitted(String)
  /// The data was written by another version of this service.
  case wrongVersion(found: String, supported: Int)
  /// What Redis holds or answers is not what this service writes.
  case unexpectedReply(String)
  /// Redis refused for another reason, in its own words.
  case refused(String)
  /// A setting that cannot be used.
  case invalidSetting(String)

  init(_ error: RedisError) {
    switch error {
    case .refused(let refusal): self = Self.of(refusal)
    case .notSent(let failure): self = .unreachable(failure.refusal?.description ?? "\(failure)")
    case .unknownOutcome: self = .unknownOutcome("\(error)")
    case .unexpectedReply(let text): self = .unexpectedReply(text)
    case .invalidSetting(let text): self = .invalidSetting(text)
    }
  }

  private static func of(_ refusal: RedisRefusal) -> StoreError {
    switch refusal.kind {
    case .outOfMemory: .outOfMemory("\(refusal)")
    case .readOnly: .readOnly("\(refusal)")
    case .noAuth, .wrongPassword, .noPermission: .notPermitted("\(refusal)")
    case .loading, .busy, .clusterDown, .masterDown, .noReplicas, .tryAgain, .misconfigured,
      .moved, .ask:
      .unreachable("\(refusal)")
    case .wrongType: .unexpectedReply("\(refusal)")
    default: .refused("\(refusal)")
    }
  }

  package var description: String {
    switch self {
    case .unreachable(let text), .unknownOutcome(let text), .outOfMemory(let text),
      .readOnly(let text), .notPermitted(let text), .refused(let text),
      .unexpectedReply(let text), .invalidSetting(let text):
      text
    case .wrongVersion(let found, let supported):
      "Redis holds data of version \(found); this program reads version \(supported). "
        + "Start the program that wrote it, or use an empty database."
    }
  }

  /// Whether the same call may succeed a little later without anybody's help.
  package var isTransient: Bool {
    switch self {
    case .unreachable, .unknownOutcome, .outOfMemory, .readOnly: true
    default: false
    }
  }
}
