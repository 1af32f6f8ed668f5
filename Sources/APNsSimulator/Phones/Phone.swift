package import Clocks

/// A version as iOS states it.
package struct SystemVersion: Sendable, Comparable, CustomStringConvertible {
  package var major: Int
  package var minor: Int

  package init(_ major: Int, _ minor: Int = 0) {
    self.major = major
    self.minor = minor
  }

  /// - Parameter text: "18", "17.2" or "17.2.1", whose last part is not looked at.
  package init?(_ text: String) {
    let parts = text.split(separator: ".", omittingEmptySubsequences: false).map { Int($0) }
    guard let major = parts.first ?? nil, parts.count <= 3, !parts.contains(nil), major >= 0
    else { return nil }
    self.major = major
    minor = parts.count > 1 ? parts[1] ?? 0 : 0
  }

  package static func < (left: SystemVersion, right: SystemVersion) -> Bool {
    (left.major, left.minor) < (right.major, right.minor)
  }

  package var description: String { "\(major).\(minor)" }

  package static let liveActivities = SystemVersion(16, 1)
  package static let pushToStart = SystemVersion(17, 2)
  package static let channels = SystemVersion(18, 0)
}

/// What a person and their phone have set.
package struct PhoneSettings: Sendable, Equatable {
  package var bundleID: String
  package var system = SystemVersion(18, 0)
  package var isOnline = true
  package var allowsLiveActivities = true
  package var allowsFrequentUpdates = true
  package var isAppInstalled = true
  /// After a force-quit the app is not woken, so no update token is handed over.
  package var isAppForceQuit = false
  /// Whether the person taps Allow on a card that was started remotely; without it the app often
  /// gets no update token.
  package var tapsAllow = true

  package init(bundleID: String) { self.bundleID = bundleID }
}

/// Something that happened on a phone, for tests and for people who ask why.
package struct PhoneEvent: Sendable, Equatable {
  package var at: UnixTime
  /// The number of the push, where one was involved.
  package var push: UInt64?
  package var activityID: Int?
  package var outcome: PushOutcome?
  /// What happened, where it was no push, or the detail of an outcome.
  package var note: String?
}

/// One virtual phone with one app, modelled by itself.
package struct Phone: Sendable {
  package let phone: Int
  package internal(set) var settings: PhoneSettings
  package internal(set) var deviceToken: String
  /// From iOS 17.2 on.
  package internal(set) var pushToStartToken: String?
  package internal(set) var activities: [Activity] = []
  package internal(set) var history: [PhoneEvent] = []
  /// Ordinary notifications that arrived; one with the collapse ID of an earlier one replaces it.
  package internal(set) var notifications: [SimulatedNotification] = []

  var updateBudget = TokenBucket()
  var startBudget = TokenBucket()
  /// At most one device push waits for a phone; the last one wins.
  var waitingDevicePush: WaitingPush?
  /// The newest stored broadcast that each activity missed while the phone was offline.
  var missedBroadcasts: [Int: UInt64] = [:]
  /// Start pushes that arrived: the phone knows a message that comes twice.
  var startsSeen: Set<UInt64> = []

  init(phone: Int, settings: PhoneSettings, deviceToken: String) {
    self.phone = phone
    self.settings = settings
    self.deviceToken = deviceToken
  }

  package struct Activity: Sendable {
    package let activityID: Int
    package let traits: ActivityTraits
    package internal(set) var card: LiveActivity
    package let channelID: String?
    package internal(set) var updateToken: String?
    /// `attributes` as JSON text.
    package let attributes: [UInt8]
    package let startedByPush: Bool
  }

  enum WaitingPush: Sendable {
    case activity(ActivityPush, DeliveryTarget)
    case notification(SimulatedNotification)

    var number: UInt64 {
      switch self {
      case .activity(let push, _): push.number
      case .notification(let notification): notification.number
      }
    }

    var storage: ActivityPush.Storage {
      switch self {
      case .activity(let push, _): push.storage
      case .notification(let notification): notification.storage
      }
    }
  }

  /// History is for looking at, not an archive.
  private static let historyLimit = 2000
  private static let notificationLimit = 200

  mutating func note(_ event: PhoneEvent) {
    history.append(event)
    if history.count > Self.historyLimit {
      history.removeFirst(Self.historyLimit / 4)
    }
  }

  mutating func show(_ notification: SimulatedNotification) {
    if let collapseID = notification.collapseID {
      notifications.removeAll { $0.collapseID == collapseID }
    }
    notifications.append(notification)
    if notifications.count > Self.notificationLimit { notifications.removeFirst() }
  }

  func index(of activityID: Int) -> Int? {
    activities.firstIndex { $0.activityID == activityID }
  }
}

/// An ordinary push that APNs accepted.
package struct SimulatedNotification: Sendable, Equatable {
  package var number: UInt64
  package var acceptedAt: UnixTime
  package var pushType: String
  package var priority: Int
  package var collapseID: String?
  package var storage: ActivityPush.Storage
  package var body: [UInt8]
}

/// Where on a phone a push goes.
enum DeliveryTarget: Sendable, Hashable {
  /// By broadcast.
  case subscribed(Int)
  /// By update token.
  case activity(Int)
  /// By push-to-start token.
  case start
}
