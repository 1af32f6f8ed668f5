/// What a refused request calls for.
///
/// The engine itself acts on ``newProviderToken``, ``keepProviderToken`` and ``reconnect``, and, as
/// the client's ``RetryPolicy`` says, on ``throttled`` and ``retryLater``; a caller that sees one of
/// these in a result knows that its repetitions were refused as well, or unsafe. The rest is the
/// caller's to act on.
public enum APNsDisposition: Sendable, Hashable {
  /// A bug or a wrong setting: the same request never succeeds. Report it, do not repeat it.
  case fixRequest
  /// The key, the certificate or the app's rights are wrong: nothing of this app will succeed until
  /// a person has acted. Stop sending and raise an alarm.
  case fixCredentials
  /// Broadcasts are not switched on for the App ID: a person has to, in Apple's developer portal
  /// (Identifiers, the app, Push Notifications, Broadcast Capability).
  case enableBroadcasts
  /// The device token is dead, or not of this environment or topic. Never send to it again.
  ///
  /// Of ``APNsReason/unregistered`` and ``APNsReason/expiredToken`` drop only tokens that were
  /// registered at or before the refusal's ``APNsRefusal/invalidSince``.
  case dropToken
  /// The channel does not exist (any more) in this environment.
  case channelGone
  /// The app has as many channels as APNs allows (10,000 per environment).
  case channelQuotaReached
  /// The provider token is over an hour old by APNs' clock.
  case newProviderToken
  /// The provider token was changed too often: keep the present one for 20 minutes or more.
  case keepProviderToken
  /// This connection is over or spoilt; the request is fine on another one.
  case reconnect
  /// Too many requests for one token, channel or app: later, and then with the newest state.
  case throttled
  /// A fault of APNs: later, with growing waits.
  case retryLater
}

extension APNsDisposition {
  /// Reads a refusal. The status comes first: a reason that does not fit it is not acted upon,
  /// since deleting a token over a garbled answer cannot be undone.
  public init(status: Int, reason: APNsReason?) {
    if let reason, let documented = reason.documentedStatus {
      let isPlain4xx = { (status: Int) in
        (400..<500).contains(status) && status != 410 && status != 429
      }
      if documented == status || (isPlain4xx(documented) && isPlain4xx(status)) {
        self = Self.of(reason)
        return
      }
    }
    switch status {
    case 403: self = .fixCredentials
    case 410: self = .dropToken
    case 429: self = .throttled
    case 500...: self = .retryLater
    default: self = .fixRequest
    }
  }

  /// Whether it concerns this one request, which would fare no better a second time. Everything
  /// else is for whoever looks after credentials, connections and repetitions.
  var isFinal: Bool {
    switch self {
    case .fixRequest, .enableBroadcasts, .dropToken, .channelGone, .channelQuotaReached: true
    case .newProviderToken, .keepProviderToken, .reconnect, .fixCredentials, .throttled,
      .retryLater:
      false
    }
  }

  private static func of(_ reason: APNsReason) -> APNsDisposition {
    switch reason {
    case .badCollapseID, .badExpirationDate, .badMessageID, .badPath, .badPriority, .badTopic,
      .duplicateHeaders, .invalidPushType, .methodNotAllowed, .missingDeviceToken,
      .missingPushType, .missingTopic, .payloadEmpty, .payloadTooLarge, .badRequestParams,
      .badRequestPayload, .badChannelID, .missingChannelID, .topicDisallowed, .unknown:
      .fixRequest
    case .badDeviceToken, .deviceTokenNotForTopic, .expiredToken, .unregistered: .dropToken
    case .channelNotRegistered: .channelGone
    case .cannotCreateChannelConfig: .channelQuotaReached
    case .featureNotEnabled: .enableBroadcasts
    case .topicMismatch, .forbidden, .badCertificate, .badCertificateEnvironment,
      .missingProviderToken, .invalidProviderToken, .badEnvironmentKeyIDInToken:
      .fixCredentials
    case .expiredProviderToken: .newProviderToken
    case .tooManyProviderTokenUpdates: .keepProviderToken
    case .unrelatedKeyIDInToken, .shutdown, .idleTimeout: .reconnect
    case .tooManyRequests: .throttled
    case .internalServerError, .serviceUnavailable: .retryLater
    }
  }
}
