package import Clocks

/// What a person sees of one activity on one phone.
package struct CardView: Sendable, Equatable {
  package var phone: Int
  package var activityID: Int?
  package var channelID: String?
  package var phase: LiveActivity.Phase
  /// JSON text.
  package var contentState: String
  /// Of the push that is shown; nil while it is what the app started with.
  package var shownTimestampSeconds: Int64?
  package var startedAt: UnixTime
  package var staleDateSeconds: Int64?
  package var endedAt: UnixTime?
  /// When it goes, or went, from the Lock Screen.
  package var dismissedAt: UnixTime?

  init(
    phone: Int, activityID: Int?, channelID: String?, _ activity: LiveActivity, at now: UnixTime,
    _ rules: PhoneRules
  ) {
    var settled = activity
    settled.settle(at: now, rules)
    self.phone = phone
    self.activityID = activityID
    self.channelID = channelID
    phase = settled.phase(at: now, rules)
    contentState = settled.contentState.text
    shownTimestampSeconds = settled.shownTimestampSeconds
    startedAt = settled.startedAt
    staleDateSeconds = settled.staleDateSeconds
    endedAt = settled.endedAt
    dismissedAt = settled.dismissedAt
  }
}

/// How far the phones of a channel have come.
package struct ConvergenceSummary: Sendable, Equatable {
  /// Phones whose card was started on this channel.
  package var phones = 0
  /// Phones that show the content-state of the newest accepted broadcast that carried one.
  package var showingNewest = 0
  /// Phones by what they show; 0 stands for what the app started with.
  package var byShownTimestamp: [Int64: Int] = [:]
  package var byPhase: [LiveActivity.Phase: Int] = [:]
  package var newestTimestampSeconds: Int64?
  /// JSON text of that newest content-state.
  package var newestContentState: String?

  package var hasConverged: Bool { showingNewest == phones }
}
