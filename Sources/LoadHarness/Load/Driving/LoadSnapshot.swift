/// A load at one moment, for whoever watches it.
package struct LoadSnapshot: Sendable {
  package enum Phase: Sendable, Equatable {
    case settingUp(what: String, done: Int, of: Int)
    case loading
    case settling
    case checking
  }

  package var phase = Phase.settingUp(what: "service", done: 0, of: 1)
  package var trips = 0
  package var members = 0
  /// Since the beginning of the load.
  package var elapsedSeconds = 0.0
  package var durationSeconds = 0.0
  package var captures = 0
  package var capturesPerSecond = 0.0
  package var capturesBehind = 0
  package var broadcasts10 = 0
  package var broadcasts5 = 0
  package var throttled = 0
  package var phonesPerSecond = 0.0
  /// Of the last whole span.
  package var toAPNsP50 = 0
  package var toAPNsP99 = 0
  package var toPhonesP50 = 0
  package var toPhonesP99 = 0
  /// Schedule to commit, of the last whole span.
  package var lagP99 = 0
  /// Shares of one core.
  package var cpu: [LoadTarget.Process: Double] = [:]
  package var residentBytes: [LoadTarget.Process: Int] = [:]

  package init() {}
}
