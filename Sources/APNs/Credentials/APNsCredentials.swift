public import Clocks
import HTTP

/// In whose name an app's requests are made.
public enum APNsCredentials: Sendable {
  /// A signing key of the team, by tokens: all push types. Give the same value to every client of
  /// the key, whatever its app and environment: APNs counts a key's tokens.
  case token(ProviderCredentials)
  /// A certificate of one app, shown in TLS: a part of the push types, and no token.
  case certificate(ClientCertificate)
}

/// What a signing key is good for, as chosen in Apple's developer portal.
public struct ProviderKeyScope: Sendable, Hashable {
  /// The topics it covers: nil for all of the team, present and future.
  public let topics: Set<BundleID>?
  /// Where it is accepted.
  public let environments: Set<APNsEnvironment>

  private init(topics: Set<BundleID>?, environments: Set<APNsEnvironment>) {
    self.topics = topics
    self.environments = environments
  }

  /// All topics of the team, both environments: what keys were before 2025.
  public static let everything = ProviderKeyScope(
    topics: nil, environments: Set(APNsEnvironment.allCases))

  /// All topics of the team in one environment.
  public static func team(_ environment: APNsEnvironment) -> ProviderKeyScope {
    ProviderKeyScope(topics: nil, environments: [environment])
  }

  /// The listed topics, at most 400, in one environment.
  public static func topics(
    _ topics: Set<BundleID>, in environment: APNsEnvironment
  ) -> ProviderKeyScope {
    ProviderKeyScope(topics: topics, environments: [environment])
  }
}

/// Why an app cannot be served with these credentials or this trust, however often one tries.
public enum APNsSetupError: Error, Sendable, Equatable, CustomStringConvertible {
  /// The certificates to trust, or our own, cannot be used.
  case tls(String)
  /// The system gave no thread or no descriptor.
  case system(String)
  /// A setting of the client has a value with which it cannot work.
  case setting(String)
  case keyForOtherEnvironment(keyID: AppleID10, APNsApp)
  case keyForOtherTopics(keyID: AppleID10, APNsApp)
  case certificateForOtherEnvironment(name: String, APNsApp)
  case certificateForOtherTopics(name: String, topics: [String], APNsApp)
  case certificateNotYetValid(name: String, from: UnixTime)
  case certificateExpired(name: String, at: UnixTime)

  public var description: String {
    switch self {
    case .system(let problem): return "The client cannot run: \(problem)."
    case .setting(let problem): return "The setting \(problem)."
    case .tls(let problem): return "TLS cannot be set up: \(problem)."
    case .keyForOtherEnvironment(let keyID, let app):
      return "The key \(keyID) is not for the environment \(app.environment.rawValue) of \(app): "
        + "APNs would refuse it with BadEnvironmentKeyIdInToken."
    case .keyForOtherTopics(let keyID, let app):
      return "The key \(keyID) is limited to topics among which \(app.bundleID) is not."
    case .certificateForOtherEnvironment(let name, let app):
      return "The certificate \"\(name)\" is not for the environment "
        + "\(app.environment.rawValue) of \(app)."
    case .certificateForOtherTopics(let name, let topics, let app):
      let list = topics.isEmpty ? "no topic" : topics.joined(separator: ", ")
      return "The certificate \"\(name)\" is for \(list), not for \(app.bundleID)."
    case .certificateNotYetValid(let name, let time):
      return "The certificate \"\(name)\" is not valid before \(HTTPDate.text(time)). "
        + "Is this machine's clock right?"
    case .certificateExpired(let name, let time):
      return "The certificate \"\(name)\" expired on \(HTTPDate.text(time)). Apple issues "
        + "them for one year: make a new one in the developer portal."
    }
  }
}

extension APNsCredentials {
  /// Finds what makes every request fail, before the first one is made.
  func check(for app: APNsApp, at now: UnixTime) throws(APNsSetupError) {
    switch self {
    case .token(let credentials):
      let key = credentials.key
      guard key.scope.environments.contains(app.environment) else {
        throw .keyForOtherEnvironment(keyID: key.keyID, app)
      }
      if let topics = key.scope.topics, !topics.contains(app.bundleID) {
        throw .keyForOtherTopics(keyID: key.keyID, app)
      }
    case .certificate(let certificate):
      try certificate.checkDates(at: now)
      guard certificate.environments.contains(app.environment) else {
        throw .certificateForOtherEnvironment(name: certificate.name, app)
      }
      guard certificate.topics.contains(app.bundleID.text) else {
        throw .certificateForOtherTopics(name: certificate.name, topics: certificate.topics, app)
      }
    }
  }
}
