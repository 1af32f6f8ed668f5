import Crypto

/// Why a name that came from configuration or a caller cannot be what it should be.
public struct InvalidIdentifier: Error, Sendable, Equatable, CustomStringConvertible {
  /// What was given and what was expected.
  public let description: String
}

/// An app's bundle ID, e.g. `com.example.fieldtrips`.
public struct BundleID: Sendable, Hashable, CustomStringConvertible {
  /// As it was given.
  public let text: String

  /// - Throws: for an empty one, one with characters that bundle IDs do not have, and for a topic:
  ///   the suffixes of push types are added by this room.
  public init(_ text: String) throws(InvalidIdentifier) {
    let isPlain = text.utf8.allSatisfy { $0.isLetterOrDigit || $0 == 0x2D || $0 == 0x2E }
    guard isPlain, (1...155).contains(text.utf8.count) else {
      throw InvalidIdentifier(
        description: "\"\(text.prefix(60))\" is no bundle ID: expected letters, digits, - and .")
    }
    for type in PushType.allCases
    where !type.topicSuffix.isEmpty && text.hasSuffix(type.topicSuffix) {
      throw InvalidIdentifier(
        description: "\"\(text)\" is a topic. Give the bundle ID alone, without "
          + "\(type.topicSuffix).")
    }
    self.text = text
  }

  public var description: String { text }
}

/// The ten characters that name a developer team or a signing key.
public struct AppleID10: Sendable, Hashable, CustomStringConvertible {
  /// As it was given.
  public let text: String

  /// - Parameter what: for the message, e.g. `key ID`.
  public init(_ text: String, what: String) throws(InvalidIdentifier) {
    let isPlain = text.utf8.allSatisfy {
      (0x30...0x39).contains($0) || (0x41...0x5A).contains($0)
    }
    guard isPlain, text.utf8.count == 10 else {
      throw InvalidIdentifier(
        description: "\"\(text.prefix(20))\" is no \(what): expected ten capital letters and "
          + "digits, as Apple's developer portal shows it.")
    }
    self.text = text
  }

  public var description: String { text }
}

/// A broadcast channel's ID: base64 that APNs chose. Of no particular length.
public struct ChannelID: Sendable, Hashable, CustomStringConvertible {
  /// As it was given.
  public let text: String

  /// - Returns: nil unless `text` is base64 of 1 to 512 characters.
  public init?(_ text: String) {
    guard (1...512).contains(text.utf8.count), Base64.standard.decode(text) != nil else {
      return nil
    }
    self.text = text
  }

  public var description: String { text }
}

/// A token that names an app, a start or an activity on one device. A secret: never logged.
public struct DeviceToken: Sendable, Hashable, CustomStringConvertible {
  /// The path of a push to this device: made once, since a fan-out needs it each time.
  let path: String

  /// Lower-case hexadecimal.
  public var text: String { String(path.dropFirst(Self.pathPrefix.utf8.count)) }

  private static let pathPrefix = "/3/device/"

  /// - Returns: nil unless `text` is hexadecimal of whole bytes. Apple asks not to assume a length:
  ///   device tokens have 64 digits, push-to-start tokens were seen with 160; 8 to 512 are taken.
  public init?(_ text: String) {
    guard (8...512).contains(text.utf8.count), text.utf8.count % 2 == 0,
      text.utf8.allSatisfy({ $0.isHexadecimalDigit })
    else { return nil }
    path = Self.pathPrefix + text.lowercased()
  }

  /// Enough to tell two apart, too little to send with.
  public var description: String { "\(text.prefix(4))…" }
}

extension UInt8 {
  var isLetterOrDigit: Bool {
    (0x30...0x39).contains(self) || (0x41...0x5A).contains(self) || (0x61...0x7A).contains(self)
  }

  var isHexadecimalDigit: Bool {
    (0x30...0x39).contains(self) || (0x41...0x46).contains(self) || (0x61...0x66).contains(self)
  }
}

/// Makes the UUIDs of requests: version 4, lower case.
///
/// They must be unique, not secret, so they come from a small generator that is seeded once: the
/// system's own costs a system call each time.
package struct RequestIDs: Sendable {
  private var state: UInt64
  private var weyl: UInt64

  package init() {
    let seed = RandomBytes.make(16)
    state = seed[..<8].reduce(0) { $0 << 8 | UInt64($1) }
    weyl = seed[8...].reduce(0) { $0 << 8 | UInt64($1) } | 1
  }

  package mutating func next() -> String {
    let high = word() & ~0xF000 | 0x4000
    let low = word() & ~(3 << 62) | (1 << 63)
    return String(unsafeUninitializedCapacity: 36) { text in
      var position = 0
      for digit in 0..<32 {
        if digit == 8 || digit == 12 || digit == 16 || digit == 20 {
          text[position] = UInt8(ascii: "-")
          position += 1
        }
        let half = digit < 16 ? high : low
        let nibble = UInt8(truncatingIfNeeded: half >> UInt64(60 - 4 * (digit & 15))) & 15
        text[position] = nibble < 10 ? 0x30 + nibble : 0x57 + nibble
        position += 1
      }
      return position
    }
  }

  /// Whether `text` is a UUID as APNs takes them: 8-4-4-4-12 digits, lower case.
  static func isCanonical(_ text: String) -> Bool {
    var position = 0
    for byte in text.utf8 {
      let wantsDash = position == 8 || position == 13 || position == 18 || position == 23
      let isDigit = (0x30...0x39).contains(byte) || (0x61...0x66).contains(byte)
      guard wantsDash ? byte == UInt8(ascii: "-") : isDigit else { return false }
      position += 1
    }
    return position == 36
  }

  /// SplitMix64 with an increment of its own: two clients that started alike still differ.
  private mutating func word() -> UInt64 {
    state &+= weyl
    var mixed = state
    mixed = (mixed ^ (mixed >> 30)) &* 0xbf58_476d_1ce4_e5b9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94d0_49bb_1331_11eb
    return mixed ^ (mixed >> 31)
  }
}
