package import FieldTrips
internal import Redis

/// A member of a trip as the store holds it.
package struct MemberRecord: Hashable, Sendable {
  /// How the member is reached now; by it members are counted, and found when tokens are sent to.
  package var reach: Reach
  /// JSON of the member's devices and tokens. The store does not look into it.
  package var body: [UInt8]

  package init(reach: Reach, body: [UInt8]) {
    self.reach = reach
    self.body = body
  }

  /// What is kept of a member; its reach follows from its devices.
  package init(_ member: TripMember, channelIsOpen: Bool) {
    self.init(reach: member.reach(channelIsOpen: channelIsOpen), body: member.written())
  }

  /// The reach's letter, and the body behind it: so a script can tell the reach.
  var bytes: [UInt8] { Array(reach.code.utf8) + body }

  static func read(_ value: RESPValue) throws(RedisError) -> MemberRecord {
    let bytes = try value.bytesValue()
    guard let first = bytes.first, let reach = Reach(code: first) else {
      throw value.unexpected("a member")
    }
    return MemberRecord(reach: reach, body: Array(bytes.dropFirst()))
  }
}

extension Reach {
  var code: String {
    switch self {
    case .channel: "c"
    case .updateToken: "u"
    case .startToken: "s"
    case .none: "n"
    }
  }

  init?(code: UInt8) {
    switch code {
    case UInt8(ascii: "c"): self = .channel
    case UInt8(ascii: "u"): self = .updateToken
    case UInt8(ascii: "s"): self = .startToken
    case UInt8(ascii: "n"): self = .none
    default: return nil
    }
  }
}
