package import Clocks

/// A token that this environment has issued, as APNs knows it.
package struct DeviceToken: Sendable {
  package enum Kind: String, Sendable {
    /// Of an app on a device: ordinary pushes.
    case device
    /// Of an app on a device: starts Live Activities.
    case pushToStart
    /// Of one Live Activity.
    case update
    /// Of an app on a device, for one push type that has a topic of its own: PushKit, widgets,
    /// controls, location.
    case ownTopic

    /// Whether pushes to it concern Live Activities.
    var isForActivities: Bool { self == .pushToStart || self == .update }
  }

  package enum State: Sendable, Equatable {
    case active
    /// 410 `Unregistered`, with the time at which APNs learnt it.
    case unregistered(since: UnixTime)
    /// 410 `ExpiredToken`.
    case expired(since: UnixTime)
    /// `BadDeviceToken`, as for a token of the other environment.
    case wrongEnvironment
    /// Answered with 200, delivered nowhere.
    case zombie
  }

  package let text: String
  package let kind: Kind
  package let bundleID: String
  /// What the topic of its pushes appends to the bundle ID.
  package let topicSuffix: String
  package let phone: Int
  /// Of an update token.
  package let activityID: Int?
  package internal(set) var state = State.active
  var budget = TokenBucket()
  /// How often a push to it was answered with 410.
  var timesGone = 0

  init(
    text: String, kind: Kind, bundleID: String, topicSuffix: String, phone: Int,
    activityID: Int? = nil
  ) {
    self.text = text
    self.kind = kind
    self.bundleID = bundleID
    self.topicSuffix = topicSuffix
    self.phone = phone
    self.activityID = activityID
  }
}
