/// What can go wrong beside a faulty body (``Problem/Code``) and what HTTP itself refuses: each kind
/// with its one status and meaning. All of them are listed in `openapi.json`.
enum ProblemKind: String, CaseIterable, Sendable {
  case unauthorized
  case wrongScope = "wrong-scope"
  /// A member's token was used for somebody else.
  case notYourself = "not-yourself"
  case requestInProgress = "request-in-progress"
  case tripFull = "trip-full"
  case tooManyNotifications = "too-many-notifications"
  case notificationUnderWay = "notification-under-way"
  case unknownNotification = "unknown-notification"
  case revisionMismatch = "revision-mismatch"
  case idempotencyKeyReused = "idempotency-key-reused"
  case tooManyRequests = "too-many-requests"
  case internalError = "internal-error"
  case storeError = "store-error"
  case apnsNoAnswer = "apns-no-answer"
  case apnsUnavailable = "apns-unavailable"
  case backlogFull = "backlog-full"
  case keysUnavailable = "keys-unavailable"
  case tooManyListeners = "too-many-listeners"
  /// Another node of the service may have it.
  case typeNotHere = "activity-type-not-here"
  case unfitTrip = "unfit-trip"
  case starting
  case storeFull = "store-full"
  case storeUnavailable = "store-unavailable"

  var status: Int {
    switch self {
    case .unauthorized: 401
    case .wrongScope, .notYourself: 403
    case .unknownNotification: 404
    case .requestInProgress, .tripFull, .tooManyNotifications, .notificationUnderWay: 409
    case .revisionMismatch: 412
    case .idempotencyKeyReused: 422
    case .tooManyRequests: 429
    case .internalError, .storeError: 500
    case .apnsNoAnswer: 502
    case .tooManyListeners, .typeNotHere, .unfitTrip, .apnsUnavailable, .backlogFull,
      .keysUnavailable, .starting, .storeFull, .storeUnavailable:
      503
    }
  }

  var title: String {
    switch self {
    case .unauthorized: "A token is needed"
    case .wrongScope: "The token is not for this"
    case .notYourself: "The token is somebody else's"
    case .requestInProgress: "The same request is under way"
    case .tripFull: "The trip is full"
    case .tooManyNotifications: "Too many notifications are waiting"
    case .notificationUnderWay: "It cannot be cancelled any more"
    case .unknownNotification: "There is no such notification"
    case .revisionMismatch: "The trip is at another revision"
    case .idempotencyKeyReused: "The Idempotency-Key belongs to another request"
    case .tooManyRequests: "Too many requests"
    case .internalError: "Something went wrong here"
    case .storeError: "The store cannot be used"
    case .apnsNoAnswer: "APNs does not answer"
    case .apnsUnavailable: "APNs cannot be used"
    case .backlogFull: "Too many triggers wait"
    case .keysUnavailable: "Tokens cannot be checked"
    case .tooManyListeners: "Too many watch this node"
    case .typeNotHere: "This node does not have the trip's activity type"
    case .unfitTrip: "The trip does not fit its activity type"
    case .starting: "The service is starting"
    case .storeFull: "The store takes nothing new"
    case .storeUnavailable: "The store does not answer"
    }
  }
}
