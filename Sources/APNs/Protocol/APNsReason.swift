/// Why APNs refused a request, in Apple's words.
///
/// Both APIs and the GOAWAY frame draw from this list. Where Apple prints or sends a word in two
/// spellings, both mean the same case. A word that is not on the list is kept as it came.
///
/// - SeeAlso: Apple, "Handling notification responses from APNs" and "Handling error responses
///   from APNs".
public enum APNsReason: Sendable, Hashable {
  // The request.
  case badCollapseID, badExpirationDate, badMessageID, badPath, badPriority, badTopic
  case duplicateHeaders, invalidPushType, methodNotAllowed, missingDeviceToken, missingPushType
  case missingTopic, payloadEmpty, payloadTooLarge, badRequestParams, badRequestPayload
  // The device token.
  case badDeviceToken, deviceTokenNotForTopic, expiredToken, unregistered
  // The channel.
  case badChannelID, missingChannelID, channelNotRegistered, cannotCreateChannelConfig
  // The app and its credentials.
  case topicDisallowed, topicMismatch, featureNotEnabled, forbidden
  case badCertificate, badCertificateEnvironment
  case missingProviderToken, invalidProviderToken, expiredProviderToken
  case tooManyProviderTokenUpdates, unrelatedKeyIDInToken, badEnvironmentKeyIDInToken
  // The service.
  case tooManyRequests, internalServerError, serviceUnavailable, shutdown, idleTimeout
  /// A word that Apple had not published when this was written.
  case unknown(String)

  /// Reads the word as it stands on the wire; its case matters.
  public init(_ text: String) { self = Self.byText[text] ?? .unknown(text) }

  /// The word as Apple's reference spells it.
  public var text: String {
    if case .unknown(let text) = self { return text }
    return Self.entries[self]?.text ?? ""
  }

  /// The status that Apple documents for this reason; nil for an unknown one.
  public var documentedStatus: Int? { Self.entries[self]?.status }

  /// A word of a fixed set, for metrics: whatever a stranger sends becomes `other`.
  public var label: String {
    if case .unknown = self { return "other" }
    return text
  }

  /// Every known reason, with its status and its spelling.
  public static let catalogue: [(reason: APNsReason, status: Int, text: String)] = [
    (.badCollapseID, 400, "BadCollapseId"),
    (.badDeviceToken, 400, "BadDeviceToken"),
    (.badExpirationDate, 400, "BadExpirationDate"),
    (.badMessageID, 400, "BadMessageId"),
    (.badPriority, 400, "BadPriority"),
    (.badTopic, 400, "BadTopic"),
    (.deviceTokenNotForTopic, 400, "DeviceTokenNotForTopic"),
    (.duplicateHeaders, 400, "DuplicateHeaders"),
    (.idleTimeout, 400, "IdleTimeout"),
    (.invalidPushType, 400, "InvalidPushType"),
    (.missingDeviceToken, 400, "MissingDeviceToken"),
    (.missingTopic, 400, "MissingTopic"),
    (.payloadEmpty, 400, "PayloadEmpty"),
    (.topicDisallowed, 400, "TopicDisallowed"),
    (.featureNotEnabled, 400, "FeatureNotEnabled"),
    (.missingChannelID, 400, "MissingChannelId"),
    (.badChannelID, 400, "BadChannelId"),
    (.channelNotRegistered, 400, "ChannelNotRegistered"),
    (.badRequestParams, 400, "BadRequestParams"),
    (.badRequestPayload, 400, "BadRequestPayload"),
    (.missingPushType, 400, "MissingPushType"),
    (.cannotCreateChannelConfig, 400, "CannotCreateChannelConfig"),
    (.badCertificate, 403, "BadCertificate"),
    (.badCertificateEnvironment, 403, "BadCertificateEnvironment"),
    (.expiredProviderToken, 403, "ExpiredProviderToken"),
    (.forbidden, 403, "Forbidden"),
    (.invalidProviderToken, 403, "InvalidProviderToken"),
    (.missingProviderToken, 403, "MissingProviderToken"),
    (.unrelatedKeyIDInToken, 403, "UnrelatedKeyIdInToken"),
    (.badEnvironmentKeyIDInToken, 403, "BadEnvironmentKeyIdInToken"),
    (.topicMismatch, 403, "TopicMismatch"),
    (.badPath, 404, "BadPath"),
    (.methodNotAllowed, 405, "MethodNotAllowed"),
    (.expiredToken, 410, "ExpiredToken"),
    (.unregistered, 410, "Unregistered"),
    (.payloadTooLarge, 413, "PayloadTooLarge"),
    (.tooManyProviderTokenUpdates, 429, "TooManyProviderTokenUpdates"),
    (.tooManyRequests, 429, "TooManyRequests"),
    (.internalServerError, 500, "InternalServerError"),
    (.serviceUnavailable, 503, "ServiceUnavailable"),
    (.shutdown, 503, "Shutdown"),
  ]

  /// Second spellings: one that APNs was seen to send, and one that Apple's broadcast page prints.
  private static let aliases: [String: APNsReason] = [
    "BadEnvironmentKeyInToken": .badEnvironmentKeyIDInToken,
    "Service Unavailable": .serviceUnavailable,
  ]

  private static let byText: [String: APNsReason] = {
    var table = aliases
    for entry in catalogue { table[entry.text] = entry.reason }
    return table
  }()

  private static let entries: [APNsReason: (status: Int, text: String)] = {
    var table: [APNsReason: (status: Int, text: String)] = [:]
    for entry in catalogue { table[entry.reason] = (entry.status, entry.text) }
    return table
  }()
}
