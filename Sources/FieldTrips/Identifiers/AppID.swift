/// One app at one of Apple's two push environments; tokens and channels of one are unknown to the
/// other.
package struct AppID: Hashable, Sendable {
  package enum Environment: String, Hashable, Sendable, CaseIterable {
    /// What Xcode runs: tokens and channels of Apple's sandbox hosts.
    case development
    /// TestFlight, ad hoc and the App Store.
    case production
  }

  package let bundleID: String
  package let environment: Environment

  /// - Throws: a sentence, unless the bundle ID has 1 to 155 letters, digits, hyphens and points.
  package init(bundleID: String, environment: Environment) throws(IdentifierError) {
    let isPlain = bundleID.utf8.allSatisfy {
      ($0 | 32 >= 97 && $0 | 32 <= 122) || ($0 >= 48 && $0 <= 57) || $0 == 45 || $0 == 46
    }
    guard isPlain, (1...155).contains(bundleID.utf8.count) else {
      throw IdentifierError(
        "\(quoted(bundleID)) is not a bundle ID: expected 1 to 155 letters, digits, hyphens and "
          + "points.")
    }
    self.bundleID = bundleID
    self.environment = environment
  }
}

extension AppID: CustomStringConvertible {
  /// `app:com.example.trips:production`, as in the keys that hold the app's channels.
  package var description: String { "app:\(bundleID):\(environment.rawValue)" }
}
