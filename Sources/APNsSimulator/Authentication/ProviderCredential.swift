/// A certificate for push notifications as the developer portal lists it.
///
/// The portal's list decides what it is good for, not the extensions of the certificate itself,
/// which say the same.
package struct RegisteredCertificate: Sendable, Equatable {
  /// The UID in its subject: a bundle ID, or the UID of a management certificate.
  package var userID: String
  /// 10 characters.
  package var teamID: String
  /// All topics that it is for, `userID` among them. Those with a suffix stand here in full.
  package var topics: Set<String>
  package var environments: Set<APNsEnvironment>
  package var isRevoked = false

  package init(
    userID: String, teamID: String, moreTopics: Set<String> = [],
    environments: Set<APNsEnvironment> = Set(APNsEnvironment.allCases)
  ) {
    self.userID = userID
    self.teamID = teamID
    topics = moreTopics.union([userID])
    self.environments = environments
  }

  /// The UID in a subject as OpenSSL writes it on one line: `/CN=Apple Push/UID=com.example`.
  package static func userID(inSubject subject: String) -> String? {
    for part in subject.split(separator: "/") where part.hasPrefix("UID=") {
      return String(part.dropFirst("UID=".count))
    }
    return nil
  }
}

/// In whose name a request comes.
enum ProviderCredential: Sendable {
  case key(RegisteredKey)
  case certificate(RegisteredCertificate)

  var teamID: String {
    switch self {
    case .key(let key): key.teamID
    case .certificate(let certificate): certificate.teamID
    }
  }

  /// Whether channels of this app are open to it.
  func covers(_ bundleID: String) -> Bool {
    switch self {
    case .key(let key): key.covers(bundleID)
    case .certificate(let certificate): certificate.topics.contains(bundleID)
    }
  }

  /// A key is for apps and all that belongs to them; a certificate for the topics that it lists.
  func covers(topic: String, bundleID: String) -> Bool {
    switch self {
    case .key(let key): key.covers(bundleID)
    case .certificate(let certificate): certificate.topics.contains(topic)
    }
  }

  /// The topic of requests that name none.
  var onlyTopic: String? {
    guard case .certificate(let certificate) = self, certificate.topics.count == 1 else {
      return nil
    }
    return certificate.userID
  }
}
