/// Every reason that APNs names in an error body or in GOAWAY's debug data.
package enum Reason: String, Sendable, CaseIterable {
  case badCertificate = "BadCertificate"
  case badCertificateEnvironment = "BadCertificateEnvironment"
  case badChannelID = "BadChannelId"
  case badCollapseID = "BadCollapseId"
  case badDeviceToken = "BadDeviceToken"
  case badEnvironmentKeyID = "BadEnvironmentKeyIdInToken"
  case badExpirationDate = "BadExpirationDate"
  case badMessageID = "BadMessageId"
  case badPath = "BadPath"
  case badPriority = "BadPriority"
  case badRequestParams = "BadRequestParams"
  case badRequestPayload = "BadRequestPayload"
  case badTopic = "BadTopic"
  case cannotCreateChannelConfig = "CannotCreateChannelConfig"
  case channelNotRegistered = "ChannelNotRegistered"
  case deviceTokenNotForTopic = "DeviceTokenNotForTopic"
  case duplicateHeaders = "DuplicateHeaders"
  case expiredProviderToken = "ExpiredProviderToken"
  case expiredToken = "ExpiredToken"
  case featureNotEnabled = "FeatureNotEnabled"
  case forbidden = "Forbidden"
  case idleTimeout = "IdleTimeout"
  case internalServerError = "InternalServerError"
  case invalidProviderToken = "InvalidProviderToken"
  case invalidPushType = "InvalidPushType"
  case methodNotAllowed = "MethodNotAllowed"
  case missingChannelID = "MissingChannelId"
  case missingDeviceToken = "MissingDeviceToken"
  case missingProviderToken = "MissingProviderToken"
  case missingPushType = "MissingPushType"
  case missingTopic = "MissingTopic"
  case payloadEmpty = "PayloadEmpty"
  case payloadTooLarge = "PayloadTooLarge"
  case serviceUnavailable = "ServiceUnavailable"
  case shutdown = "Shutdown"
  case tooManyProviderTokenUpdates = "TooManyProviderTokenUpdates"
  case tooManyRequests = "TooManyRequests"
  case topicDisallowed = "TopicDisallowed"
  case topicMismatch = "TopicMismatch"
  case unregistered = "Unregistered"
  case unrelatedKeyID = "UnrelatedKeyIdInToken"

  /// The status that Apple's tables give with it.
  package var status: Int {
    switch self {
    case .badPath: 404
    case .methodNotAllowed: 405
    case .expiredToken, .unregistered: 410
    case .payloadTooLarge: 413
    case .tooManyProviderTokenUpdates, .tooManyRequests: 429
    case .internalServerError: 500
    case .serviceUnavailable, .shutdown: 503
    case .badCertificate, .badCertificateEnvironment, .badEnvironmentKeyID,
      .expiredProviderToken, .forbidden, .invalidProviderToken, .missingProviderToken,
      .topicMismatch, .unrelatedKeyID:
      403
    default: 400
    }
  }

  /// Whether such an answer makes APNs slow a connection down.
  ///
  /// A 410 does not count, by Apple's word. Throttling is our reading: a throttled channel is
  /// already slowed by its own bucket, so 429 and 5xx answers do not count either.
  var countsAgainstConnection: Bool {
    status < 500 && status != 410 && status != 429
  }
}

/// Where Apple spells one thing in two ways.
package struct ReasonSpelling: Sendable, Equatable {
  /// `BadEnvironmentKeyIdInToken` is documented, `BadEnvironmentKeyInToken` was received.
  package var environmentKey = EnvironmentKey.documented
  /// `ServiceUnavailable` on the device page, `Service Unavailable` on the broadcast page.
  package var unavailable = Unavailable.byPage

  package init() {}

  package enum EnvironmentKey: String, Sendable, CaseIterable {
    case documented = "BadEnvironmentKeyIdInToken"
    case observed = "BadEnvironmentKeyInToken"
  }

  package enum Unavailable: String, Sendable, CaseIterable {
    /// As the page of each interface prints it: with a space except for device pushes.
    case byPage
    case joined
    case spaced
  }

  func text(of reason: Reason, forDevice: Bool) -> String {
    switch reason {
    case .badEnvironmentKeyID: environmentKey.rawValue
    case .serviceUnavailable:
      switch unavailable {
      case .byPage: forDevice ? "ServiceUnavailable" : "Service Unavailable"
      case .joined: "ServiceUnavailable"
      case .spaced: "Service Unavailable"
      }
    default: reason.rawValue
    }
  }
}
