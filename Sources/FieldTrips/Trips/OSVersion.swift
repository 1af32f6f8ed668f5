/// The version of iOS or iPadOS that a device runs.
package struct OSVersion: Hashable, Comparable, Sendable {
  package let major: Int
  package let minor: Int

  package init(_ major: Int, _ minor: Int = 0) {
    self.major = major
    self.minor = minor
  }

  /// Reads `18`, `17.2` or `17.2.1`; the third number changes nothing for us.
  package init(_ text: String) throws(IdentifierError) {
    let parts = text.split(separator: ".", omittingEmptySubsequences: false)
    let numbers = parts.compactMap(Self.number)
    guard (1...3).contains(parts.count), numbers.count == parts.count, numbers[0] > 0 else {
      throw IdentifierError("\(quoted(text)) is not an iOS version such as 18.1.")
    }
    major = numbers[0]
    minor = numbers.count > 1 ? numbers[1] : 0
  }

  /// Live Activities with update tokens.
  package static let liveActivities = OSVersion(16, 1)
  /// Remote start by a push-to-start token.
  package static let pushToStart = OSVersion(17, 2)
  /// Broadcast channels, `input-push-channel` and `input-push-token`.
  package static let channels = OSVersion(18, 0)

  package static func < (left: OSVersion, right: OSVersion) -> Bool {
    (left.major, left.minor) < (right.major, right.minor)
  }

  private static func number(_ digits: Substring) -> Int? {
    guard (1...3).contains(digits.utf8.count), digits.utf8.allSatisfy({ $0 >= 48 && $0 <= 57 })
    else { return nil }
    return Int(digits)
  }
}

extension OSVersion: CustomStringConvertible {
  package var description: String { "\(major).\(minor)" }
}
