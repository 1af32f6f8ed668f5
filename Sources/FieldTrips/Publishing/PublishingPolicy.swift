/// The settings by which a channel broadcasts: what it may spend, and how it weighs waiting.
///
/// A priority-10 broadcast shows at once and costs a token; one token refills in 3,600 s divided
/// by ``budgetPerHour``. Read ``ChannelPublisher`` for what the settings do together.
///
/// **How to choose.** Take what the phones are known to allow in an hour, N, and choose a budget
/// with `budgetPerHour + burst + overdraft ≤ N`. Guess low: a budget that is too small costs some
/// freshness every minute, one that is too large freezes cards for many minutes, and nothing tells
/// the server. The other settings have wide plateaus; leave them alone without a measurement.
package struct PublishingPolicy: Sendable, Equatable {
  // MARK: The channel's budget

  /// Priority-10 broadcasts an hour, 1...3,600. Also the ceiling of the adapted rate.
  package var budgetPerHour: Double = 60
  /// Tokens that a full bucket holds, 2...1,000; nil for ten minutes' worth. Fewer come with a
  /// lower adapted rate.
  package var burst: Int?
  /// Tokens that significant changes may borrow, 0...100. Ordinary ones wait until it is repaid.
  package var overdraft = 5

  // MARK: The rule

  package var rule = DueRule.standard
  /// The longest wait of an ordinary change, in refill intervals, 1...100. Less than 1 could not
  /// always be paid; more gains under 1 %.
  package var maxWait: Double = 1
  /// How the typical gap is learned.
  package var gap = GapEstimate.Settings()

  // MARK: The tail

  /// Whether changes that are not due yet also go out at priority 5, which costs no token and
  /// which phones may show late.
  package var isTailOn = true
  /// The shortest time from any broadcast to a priority-5 one, 1 s...1 h.
  package var tailGap = Duration.seconds(15)
  /// A tail is pointless when a priority-10 broadcast is due this soon after it, 0...1 h.
  package var tailSkip = Duration.seconds(2)
  /// Silence of the tail after a 429, 1 s...1 day; doubles with each further one.
  package var tailPause = Duration.seconds(300)
  package var tailPauseCap = Duration.seconds(3_600)
  /// A refresh that was lost is tried again after this time, 1 s...1 h.
  package var refreshRetry = Duration.seconds(60)

  // MARK: Answers

  /// Added to the hourly rate by each accepted priority-10 broadcast, 0...3,600.
  package var rateUp = 1.0
  /// What a 429 leaves of the hourly rate, above 0 and below 1.
  package var rateDown = 0.7
  /// The rate is not lowered below this, 1...3,600 an hour; a smaller budget is its own floor.
  package var rateFloor = 12.0
  /// Several 429s within this time lower the rate once, 0...1 h.
  package var downOncePer = Duration.seconds(60)
  /// Before the nth try in a row, a random wait of up to this times 2ⁿ, and at least 1 s.
  package var backoffBase = Duration.seconds(1)
  package var backoffCap = Duration.seconds(60)
  /// The cap while a significant change or the trip's end waits.
  package var significantBackoffCap = Duration.seconds(10)
  /// How long after a refusal for good, which is a defect of ours, one more try is made.
  package var defectRetry = Duration.seconds(60)
  /// How long the driver waits for an answer before the outcome counts as unknown, 1 s...1 min.
  package var requestTimeout = Duration.seconds(10)

  // MARK: Cards with tokens

  /// Priority-10 updates an hour to a card with a token whose person does not allow frequent
  /// updates, 1...3,600; the others go at priority 5. Other cards get what the channel gets.
  package var frugalPerHour = 12

  // MARK: Clocks

  /// Timestamps this far ahead of the wall clock raise an alarm: the clock was set back.
  package var skewAlarm = Duration.seconds(60)
  /// Phones drop updates from more than 8 h in their future; an hour before that we stop.
  package var skewLimit = Duration.seconds(25_200)

  package init() {}

  /// For apps whose users have not allowed frequent updates: 12 an hour.
  package static let standard = {
    var policy = PublishingPolicy()
    policy.budgetPerHour = 12
    policy.overdraft = 3
    return policy
  }()
  /// 60 an hour.
  package static let `default` = PublishingPolicy()
  /// 120 an hour, for groups whose phones are known to allow it.
  package static let frequent = {
    var policy = PublishingPolicy()
    policy.budgetPerHour = 120
    return policy
  }()

  /// The same settings under the reference rule, which replays compare with.
  package var withReferenceRule: PublishingPolicy {
    var policy = self
    policy.rule = .reference
    policy.gap.smoothing = 0.1
    policy.gap.window = nil
    return policy
  }

  // MARK: Derived

  /// - Parameter rate: broadcasts an hour.
  /// - Returns: the time in which one token refills, rounded up so that the budget holds exactly.
  package static func refillInterval(ratePerHour rate: Double) -> Duration {
    .nanoseconds(Int64((3_600e9 / rate).rounded(.up)))
  }

  /// Whole tokens in a full bucket at this rate.
  package func capacity(ratePerHour rate: Double) -> Int {
    guard let burst else { return max(2, Int(rate / 6)) }
    return max(2, min(burst, Int((Double(burst) * rate / budgetPerHour).rounded())))
  }

  var lowestRate: Double { min(rateFloor, budgetPerHour) }
}
