/// What an operator can set about publishing: the policy of every channel, and the rate of an app.
package struct PublishingSettings: Sendable, Equatable {
  package var policy: PublishingPolicy
  package var appRate: AppRateSettings

  package init(
    policy: PublishingPolicy = PublishingPolicy(), appRate: AppRateSettings = AppRateSettings()
  ) {
    self.policy = policy
    self.appRate = appRate
  }

  /// The named policies with which a text may begin.
  package static let profiles: [(name: String, policy: PublishingPolicy, meaning: String)] = [
    ("default", .default, "60 an hour, for apps that ask for frequent updates"),
    ("standard", .standard, "12 an hour, where phones have not allowed frequent updates"),
    ("frequent", .frequent, "120 an hour, where phones are known to show them"),
  ]

  /// Reads `standard,overdraft=2,tail=off`: a profile, settings, or both; later ones win.
  package mutating func apply(_ text: String) throws(PolicyError) {
    for word in text.split(separator: ",") {
      let parts = word.split(separator: "=", maxSplits: 1).map {
        String($0.drop { $0 == " " }.reversed().drop { $0 == " " }.reversed())
      }
      if parts.count == 1, let profile = Self.profiles.first(where: { $0.name == parts[0] }) {
        policy = profile.policy
      } else if parts.count == 2, let setting = Self.all.first(where: { $0.name == parts[0] }) {
        try setting.assign(parts[1], to: &self)
      } else {
        throw PolicyError(
          setting: parts.first ?? "", value: parts.count > 1 ? parts[1] : "",
          expected: "a profile (\(Self.profiles.map(\.name).joined(separator: ", "))), or "
            + "NAME=VALUE with a name that `fieldcast policy` lists")
      }
    }
    try validate()
  }

  /// Call once at the edge: everything that takes these settings relies on it.
  package func validate() throws(PolicyError) {
    for setting in Self.all { try setting.check(self) }
    try ordered("tail-pause", policy.tailPause, "tail-pause-cap", policy.tailPauseCap)
    try ordered("skew-alarm", policy.skewAlarm, "skew-limit", policy.skewLimit)
    try ordered("app-rate-floor", appRate.floor, "app-rate", appRate.start)
    try ordered("app-rate", appRate.start, "app-rate-ceiling", appRate.ceiling)
  }

  /// The most priority-10 broadcasts that a channel makes in any hour, its trip's end aside.
  package var mostInAnHour: Int {
    Int(policy.budgetPerHour) + policy.capacity(ratePerHour: policy.budgetPerHour)
      + policy.overdraft
  }

  private func ordered<Value: Comparable>(
    _ name: String, _ value: Value, _ other: String, _ limit: Value
  ) throws(PolicyError) {
    guard value > limit else { return }
    throw PolicyError(setting: name, value: "\(value)", expected: "at most \(other), \(limit)")
  }
}

extension PublishingPolicy {
  /// Call once at the edge: everything that takes a policy relies on it.
  package func validate() throws(PolicyError) {
    try PublishingSettings(policy: self).validate()
  }
}
