/// What iOS does to Live Activities, as far as it is known. Durations are of the phone's time.
package struct PhoneRules: Sendable, Equatable {
  /// Longest active time. Apple: 8 hours.
  package var activeLimit: Duration = .seconds(8 * 3600)
  /// Longest time on the Lock Screen after the end. Apple: 4 hours.
  package var dismissalLimit: Duration = .seconds(4 * 3600)
  /// A timestamp further ahead of the phone's clock is dropped. A forum reply: 8 hours.
  package var timestampLead: Duration = .seconds(8 * 3600)
  /// An update whose timestamp lies further behind the phone's clock is dropped; nil: never.
  /// Reports range from 50 to 200 seconds, Apple says nothing.
  package var timestampLag: Duration?
  /// Largest `attributes` and `content-state` together, in bytes. Apple: 4 KB.
  package var stateLimitBytes = 4096
  /// Priority-10 pushes that a phone takes from one app; nil never drops.
  ///
  /// Undocumented. About 15 an hour were reported without frequent updates.
  package var updateBudget: BucketRate? = BucketRate(capacity: 15, interval: .seconds(240))
  /// The same where frequent updates are allowed: device logs showed 229 to 236 remaining.
  package var frequentUpdateBudget: BucketRate? = BucketRate(
    capacity: 230, interval: .seconds(16))
  /// Remote starts of one app; nil never drops. About ten, refilled within a day at the latest.
  package var startBudget: BucketRate? = BucketRate(capacity: 10, interval: .seconds(8640))
  /// Activities of one app at a time. Others report about five.
  package var activitiesPerApp = 5
  /// How long after a remote start the app hands over an update token.
  package var updateTokenDelay: Duration = .seconds(2)
  /// How long after its end an update token begins to answer 410; nil: never.
  package var tokenExpiryLag: Duration? = .seconds(60)
  /// Whether an activity that the app starts itself counts as stamped with its start.
  ///
  /// Not documented. When it does, broadcasts stamped earlier than the start are dropped, a
  /// stored message for a late joiner among them.
  package var localStartIsStamped = false

  package init() {}

  func validate() throws(InvalidSetting) {
    let day: ClosedRange<Duration> = .zero ... .seconds(86_400)
    try require("phones.activeLimit", activeLimit, in: day, "")
    try require("phones.dismissalLimit", dismissalLimit, in: day, "")
    try require("phones.timestampLead", timestampLead, in: day, "")
    try require("phones.timestampLag", timestampLag ?? .zero, in: day, "")
    try require("phones.stateLimitBytes", stateLimitBytes, in: 1...1_000_000, "bytes")
    let budgets = [
      ("updateBudget", updateBudget), ("frequentUpdateBudget", frequentUpdateBudget),
      ("startBudget", startBudget),
    ]
    for (name, budget) in budgets {
      try require(
        "phones.\(name).capacity", budget?.capacity ?? 1, in: 1...1_000_000, "pushes")
      try require(
        "phones.\(name).interval", budget?.interval ?? .seconds(1),
        in: .milliseconds(1) ... .seconds(86_400), "")
    }
    try require("phones.activitiesPerApp", activitiesPerApp, in: 1...1000, "activities")
    try require("phones.updateTokenDelay", updateTokenDelay, in: day, "")
    try require("phones.tokenExpiryLag", tokenExpiryLag ?? .zero, in: day, "")
  }
}

/// Why a phone showed nothing new although APNs had said 200.
package enum DropReason: String, Sendable, CaseIterable {
  case olderTimestamp, equalTimestamp, timestampTooFarAhead, timestampTooOld
  case malformed, undecodable, stateTooLarge
  case activityEnded, activityDismissed, noSuchActivity
  case budgetSpent
  case startWithoutAlert, startForRunningActivity, startNotSupported, startBudgetSpent
  case noFreeSlot, unknownAttributesType, unknownChannel, channelInputNeedsIOS18
  case liveActivitiesOff, appNotInstalled
  case offline, replacedWhileOffline, expiredWhileOffline, lost
  case zombieToken
}

/// What became of one push at one phone.
package enum PushOutcome: Sendable, Hashable {
  /// The card shows it.
  case shown
  /// Taken, but the picture is the same: the content-state equals the one shown.
  case unchanged
  case started
  case ended
  case dropped(DropReason)

  package var name: String {
    switch self {
    case .shown: "shown"
    case .unchanged: "unchanged"
    case .started: "started"
    case .ended: "ended"
    case .dropped(let reason): "dropped: \(reason.rawValue)"
    }
  }
}
