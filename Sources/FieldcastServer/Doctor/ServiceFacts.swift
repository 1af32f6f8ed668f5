internal import Clocks
internal import Transport

/// What an app's APNs answers.
package struct APNsFacts: Facts {
  package enum Answer: Sendable, Equatable {
    /// The list of the app's channels came: so many.
    case listed(Int)
    /// APNs does not take the key, or not for this app.
    case notAuthenticated(String)
    /// The app may not broadcast.
    case broadcastsOff(String)
    /// It answered, and no list came.
    case refused(String)
    /// No connection, or no answer in time.
    case unreachable(String)
  }

  /// Such as `com.example.trips (production)`.
  package var app: String
  package var host: String
  package var answer: Answer
  /// Where broadcasts and pushes go: why no connection can be opened; nil if one can.
  package var pushHost: String
  package var pushProblem: String?
  /// How far the service's clock is ahead of APNs', to a second; nil if it did not say.
  package var clockLead: Duration?

  package init(
    app: String, host: String, answer: Answer, pushHost: String, pushProblem: String? = nil,
    clockLead: Duration? = nil
  ) {
    self.app = app
    self.host = host
    self.answer = answer
    self.pushHost = pushHost
    self.pushProblem = pushProblem
    self.clockLead = clockLead
  }

  package var subject: String { app }
  package var findings: [Finding] { [listing, connecting, clock].compactMap(\.self) }

  private var listing: Finding {
    switch answer {
    case .listed(let count):
      return finding(
        .good, "apns", "\(host) takes the key, and lists \(count) channels of the app.")
    case .notAuthenticated(let reason):
      return finding(
        .wrong, "apns", "\(host) does not take the key. \(reason)",
        why: "Nothing can be published.",
        mend: "Compare team ID, key ID, bundle ID and environment with the portal: a key may be of "
          + "one environment only, revoked, or another team's. FIELDCAST_APNS_TEAM_ID, "
          + "FIELDCAST_APNS_KEY_ID, FIELDCAST_APNS_KEY_FILE, FIELDCAST_BUNDLE_ID.")
    case .broadcastsOff(let reason):
      return finding(
        .wrong, "apns", "The app may not broadcast. \(reason)",
        why: "Trips have no channel, and only members with tokens are reached.",
        mend: "Switch it on in the portal: Certificates, Identifiers & Profiles, the app's Push "
          + "Notifications, Broadcast Capability.")
    case .refused(let reason):
      return finding(
        .advice, "apns", "\(host) answers, but does not list the channels. \(reason)",
        why: "Channels may not be made or deleted now.", mend: "Ask again in a minute.")
    case .unreachable(let reason):
      return finding(
        .wrong, "apns", "\(host) cannot be reached. \(reason)",
        why: "Without it no channel is made or deleted: new trips wait.",
        mend: "Let this machine connect to \(host), which has no alternative port; or set "
          + "FIELDCAST_APNS_PROXY to a proxy that may.")
    }
  }

  private var connecting: Finding {
    guard let pushProblem else {
      return finding(.good, "push", "\(pushHost) can be reached, for broadcasts and pushes.")
    }
    return finding(
      .wrong, "push", "\(pushHost) cannot be reached. \(pushProblem)",
      why: "Nothing can be published.",
      mend: "Let this machine connect to \(pushHost), or set FIELDCAST_APNS_PROXY.")
  }

  private var clock: Finding? {
    guard let clockLead else { return nil }
    return ClockLead(of: app, than: "APNs'", by: clockLead, good: .seconds(3), wrong: .seconds(60))
      .finding(
        why:
          "APNs refuses provider tokens that are of the future or too old, and cards are stale at "
          + "the wrong time.")
  }
}

/// How far this machine's clock is ahead of another one.
package struct ClockLead: Sendable {
  let subject: String
  let whose: String
  let lead: Duration
  let good: Duration
  let wrong: Duration

  package init(
    of subject: String, than whose: String, by lead: Duration, good: Duration, wrong: Duration
  ) {
    self.subject = subject
    self.whose = whose
    self.lead = lead
    self.good = good
    self.wrong = wrong
  }

  package func finding(why: String) -> Finding {
    let size = lead < .zero ? .zero - lead : lead
    let tenths = size.wholeNanoseconds / 100_000_000
    let what =
      "This machine's clock is \(tenths / 10).\(tenths % 10) s "
      + "\(lead < .zero ? "behind" : "ahead of") \(whose)."
    guard size > good else { return Finding(.good, subject, "clock", what) }
    return Finding(
      size > wrong ? .wrong : .advice, subject, "clock", what, why: why,
      mend:
        "Let something keep the clocks: timedatectl set-ntp true, or chronyc tracking to see why "
        + "it does not.")
  }
}

/// What Redis holds of this service, and who serves it.
package struct DataFacts: Facts {
  /// Of the data; nil in a database that no service has used.
  package var version: String?
  package var partitions: String?
  /// What this program reads, and this configuration says.
  package var supportedVersion: String
  package var configuredPartitions: Int
  /// Nodes that have said lately that they live.
  package var nodes: [String] = []
  /// Partitions that nobody owned, also not a moment later.
  package var unowned: [Int] = []

  package init(supportedVersion: Int, configuredPartitions: Int) {
    self.supportedVersion = String(supportedVersion)
    self.configuredPartitions = configuredPartitions
  }

  package var subject: String { "data" }

  package var findings: [Finding] {
    guard let version else {
      return [finding(.good, "version", "The database is new: no service has used it.")]
    }
    guard version == supportedVersion else {
      return [
        finding(
          .wrong, "version",
          "Redis holds data of version \(version), and this program reads \(supportedVersion).",
          why: "This program does not start with it.",
          mend: "Start the program that wrote it, or name an empty database in FIELDCAST_REDIS_URL."
        )
      ]
    }
    let known = finding(.good, "version", "The data are of version \(version).")
    guard let partitions, partitions != String(configuredPartitions) else {
      return [known, owners]
    }
    return [
      known,
      finding(
        .wrong, "partitions",
        "The trips are spread over \(partitions) partitions, and this program would look into "
          + "\(configuredPartitions).",
        why: "It does not start with it: most trips would not be found.",
        mend: "Use the program and settings that made them, or an empty database."),
    ]
  }

  private var owners: Finding {
    guard !nodes.isEmpty else {
      return finding(.good, "owners", "No node runs on it now.")
    }
    let names = nodes.joined(separator: ", ")
    guard let first = unowned.first else {
      return finding(.good, "owners", "Every partition has an owner; nodes: \(names).")
    }
    return finding(
      .wrong, "owners",
      "\(unowned.count) partitions have no owner, such as p\(first), though \(nodes.count) nodes "
        + "live: \(names).",
      why: "Their trips wait: nothing of them is worked off or published.",
      mend: "See the nodes' logs for why they do not take them; restart the one that hangs.")
  }
}

/// What a running service says.
package enum ServiceFacts: Sendable {
  case silent(address: String)
  case ready(address: String)
  case notReady(address: String, reason: String)

  package var finding: Finding {
    switch self {
    case .silent(let address):
      Finding(.unknown, "service", "ready", "No service answers at \(address).")
    case .ready(let address):
      Finding(.good, "service", "ready", "The service at \(address) can work.")
    case .notReady(let address, let reason):
      Finding(
        .wrong, "service", "ready", "The service at \(address) cannot work. \(reason)",
        why: "It answers /readyz with 503, so nobody should send it anything.",
        mend: "What else is wrong here may be why; else see its log.")
    }
  }
}
