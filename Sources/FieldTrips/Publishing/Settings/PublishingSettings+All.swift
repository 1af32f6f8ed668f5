internal import Clocks

extension PublishingSettings {
  /// Every setting, in the order in which a person meets them.
  package static let all: [PolicySetting] = budget + rule + tail + answers + tokens + clocks + app

  private static let budget = [
    number(
      .budget, "budget", 1...3_600, "broadcasts an hour", \.policy.budgetPerHour,
      """
      Priority-10 broadcasts that a channel may make, and the ceiling of its adapted rate. Take \
      what the phones are known to show in an hour, less burst and overdraft. Guess low: too low \
      costs some freshness every minute; too high freezes cards for many, and nothing tells.
      """),
    PolicySetting(
      group: .budget, name: "burst", unit: "broadcasts", range: 2...1_000, isWhole: true,
      word: "auto",
      meaning: """
        How many may come close together after a quiet time. auto is ten minutes' worth, at \
        least 2. More helps groups with long lulls.
        """,
      get: { $0.policy.burst.map(Double.init) }, set: { $0.policy.burst = $1.map { Int($0) } }),
    count(
      .budget, "overdraft", 0...100, "broadcasts", \.policy.overdraft,
      """
      What significant changes may borrow beyond the bucket. Ordinary ones wait until it is \
      repaid, so keep significant changes under a twentieth of all.
      """),
    number(
      .budget, "max-wait", 1...100, "refills", \.policy.maxWait,
      """
      The longest wait of an ordinary change, in the time that a token takes. Less than 1 could \
      not always be paid; more gains under 1 % of staleness.
      """),
  ]

  private static let rule = [
    number(
      .rule, "price", 0.1...50, "refills", \.policy.rule.price,
      """
      What a token of an empty bucket is worth in note-seconds. Higher saves tokens for later \
      bursts, lower shows single notes sooner. 1 to 1.5 are within 2 % of each other.
      """),
    number(
      .rule, "gap-factor", 0.1...20, "gaps", \.policy.rule.gapFactor,
      "How long waiting notes will probably wait for the next. Only its ratio to price matters."),
    number(
      .rule, "quiet-factor", 0...10, "", \.policy.rule.quietFactor,
      "How much the quiet since the newest note makes it urgent. Recorded days favour 0."),
    number(
      .rule, "gap-smoothing", 0.001...1, "", \.policy.gap.smoothing,
      "Weight of the newest gap in the trip's typical one. Higher follows the day faster."),
    seconds(
      .rule, "gap-floor", 0.001...60, \.policy.gap.floor,
      "Shorter gaps count as this long: several captures of one find are no rate."),
    PolicySetting(
      group: .rule, name: "gap-window", unit: "s", range: 10...3_600, isWhole: false, word: "off",
      meaning: """
        The last minutes whose rate is joined with the trip's typical gap. off uses the typical \
        gap alone.
        """,
      get: { $0.policy.gap.window?.inSeconds },
      set: { $0.policy.gap.window = $1.map(duration) }),
  ]

  private static let tail = [
    PolicySetting(
      group: .tail, name: "tail", unit: "on or off", range: 0...1, isWhole: true, word: nil,
      meaning: """
        Whether what is not due yet also goes out at priority 5, which costs no token and may \
        come late. off where APNs throttles channels for it.
        """,
      get: { $0.policy.isTailOn ? 1 : 0 }, set: { $0.policy.isTailOn = $1 == 1 }),
    seconds(
      .tail, "tail-gap", 1...3_600, \.policy.tailGap,
      "The shortest time from any broadcast to one at priority 5."),
    seconds(
      .tail, "tail-skip", 0...3_600, \.policy.tailSkip,
      "None is sent when priority 10 is due this soon after it."),
    seconds(
      .tail, "tail-pause", 1...86_400, \.policy.tailPause,
      "Silence of the tail after a 429; doubles with each further one."),
    seconds(
      .tail, "tail-pause-cap", 1...86_400, \.policy.tailPauseCap, "The longest such silence."),
    seconds(
      .tail, "refresh-retry", 1...3_600, \.policy.refreshRetry,
      """
      A refresh that keeps a card from going stale, and was lost, is tried again after this time.
      """),
  ]

  private static let answers = [
    number(
      .answers, "rate-down", 0.01...0.99, "", \.policy.rateDown,
      "What a 429 leaves of the channel's rate."),
    number(
      .answers, "rate-up", 0...3_600, "broadcasts an hour", \.policy.rateUp,
      "Added to the channel's rate by each accepted priority-10 broadcast, up to the budget."),
    number(
      .answers, "rate-floor", 1...3_600, "broadcasts an hour", \.policy.rateFloor,
      "The rate is not lowered below this; a smaller budget is its own floor."),
    seconds(
      .answers, "down-once-per", 0...3_600, \.policy.downOncePer,
      "Several 429s within this time lower the rate once."),
    seconds(
      .answers, "backoff-base", 0.001...60, \.policy.backoffBase,
      "Before the nth try in a row, a random wait of up to this times 2 to the n."),
    seconds(.answers, "backoff-cap", 1...3_600, \.policy.backoffCap, "The longest such wait."),
    seconds(
      .answers, "significant-backoff-cap", 1...3_600, \.policy.significantBackoffCap,
      "The same while a significant change or the trip's end waits."),
    seconds(
      .answers, "defect-retry", 1...3_600, \.policy.defectRetry,
      "How long after a refusal for good one more try is made."),
    seconds(
      .answers, "request-timeout", 1...60, \.policy.requestTimeout,
      "Without an answer for so long, it is unknown whether phones were told."),
  ]

  private static let tokens = [
    count(
      .tokens, "frugal", 1...3_600, "updates an hour", \.policy.frugalPerHour,
      """
      Priority-10 updates by token to a card whose person does not allow frequent updates; the \
      others go at priority 5. Other cards get what the channel gets.
      """)
  ]

  private static let clocks = [
    seconds(
      .clocks, "skew-alarm", 1...28_800, \.policy.skewAlarm,
      "Timestamps this far ahead of the clock raise an alarm: it was set back."),
    seconds(
      .clocks, "skew-limit", 1...28_800, \.policy.skewLimit,
      "This far ahead, a channel is stopped: phones drop what is 8 h in their future."),
  ]

  private static let app = [
    number(
      .app, "app-rate", 1...10_000, "requests a second", \.appRate.start,
      "With how many all channels of an app begin together."),
    number(
      .app, "app-rate-floor", 1...10_000, "requests a second", \.appRate.floor,
      "The least to which 429s bring it down."),
    number(
      .app, "app-rate-ceiling", 1...10_000, "requests a second", \.appRate.ceiling,
      "The most to which it rises. Lower it where other services share the app."),
    number(
      .app, "app-rate-up", 0...1_000, "requests a second", \.appRate.up,
      "Added in each second without a 429."),
    number(.app, "app-rate-down", 0.01...0.99, "", \.appRate.down, "What remains when it falls."),
    count(
      .app, "app-rate-channels", 1...16, "channels", \.appRate.channels,
      "So many channels with a 429 within the window make it the app's."),
    seconds(
      .app, "app-rate-window", 1...600, \.appRate.window,
      "That window, and the shortest time between two falls."),
  ]

  // MARK: Kinds

  private typealias Path<Value> = any WritableKeyPath<PublishingSettings, Value> & Sendable

  private static func number(
    _ group: PolicySetting.Group, _ name: String, _ range: ClosedRange<Double>, _ unit: String,
    _ path: Path<Double>, _ meaning: String
  ) -> PolicySetting {
    PolicySetting(
      group: group, name: name, unit: unit, range: range, isWhole: false, word: nil,
      meaning: meaning, get: { $0[keyPath: path] },
      set: { settings, number in if let number { settings[keyPath: path] = number } })
  }

  private static func count(
    _ group: PolicySetting.Group, _ name: String, _ range: ClosedRange<Double>, _ unit: String,
    _ path: Path<Int>, _ meaning: String
  ) -> PolicySetting {
    PolicySetting(
      group: group, name: name, unit: unit, range: range, isWhole: true, word: nil,
      meaning: meaning, get: { Double($0[keyPath: path]) },
      set: { settings, number in if let number { settings[keyPath: path] = Int(number) } })
  }

  private static func seconds(
    _ group: PolicySetting.Group, _ name: String, _ range: ClosedRange<Double>,
    _ path: Path<Duration>, _ meaning: String
  ) -> PolicySetting {
    PolicySetting(
      group: group, name: name, unit: "s", range: range, isWhole: false, word: nil,
      meaning: meaning, get: { $0[keyPath: path].inSeconds },
      set: { settings, number in
        if let number { settings[keyPath: path] = duration(number) }
      })
  }

  private static func duration(_ seconds: Double) -> Duration {
    .nanoseconds(Int64((seconds * 1e9).rounded()))
  }
}
