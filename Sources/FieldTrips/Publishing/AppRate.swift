package import Clocks

/// What ``AppRate`` may be set to.
package struct AppRateSettings: Sendable, Equatable {
  /// Requests a second: where to start, and between which bounds to stay. 1...10,000.
  package var start = 100.0
  package var floor = 1.0
  package var ceiling = 1_000.0
  /// Added after each whole second without a 429.
  package var up = 1.0
  /// What remains of the rate when it falls, above 0 and below 1.
  package var down = 0.7
  /// So many channels within `window` make a 429 the app's. 1...16.
  package var channels = 3
  /// Also the shortest time between two falls.
  package var window = Duration.seconds(10)

  package init() {}
}

/// How many requests a second all channels of one app may make together.
///
/// APNs publishes no limit and says 429 beyond it. One channel's 429 may be that channel's own;
/// when several channels get one within seconds, it is the app's, and the rate falls. It rises
/// again slowly, second by second.
package struct AppRate<Channel: Hashable & Sendable>: Sendable {
  package typealias Settings = AppRateSettings

  package let settings: Settings
  package private(set) var requestsPerSecond: Double
  /// One second's worth of requests.
  private var bucket: TokenBucket
  /// The rate has risen for the time up to here.
  private var risenUntil: Moment
  private var lastDown: Moment?
  /// The newest 429s and 5xx, a channel at most once; at most `settings.channels`.
  private var refusals: [(channel: Channel, at: Moment)] = []

  /// - Parameter settings: validated.
  package init(settings: Settings = Settings(), at now: Moment) {
    self.settings = settings
    requestsPerSecond = settings.start
    bucket = AppRate.bucket(settings.start, level: settings.start, at: now)
    risenUntil = now
  }

  /// Takes the right to make one request now.
  ///
  /// - Returns: nil if it was granted, else the moment at which to ask again.
  package mutating func take(at now: Moment) -> Moment? {
    rise(until: now)
    guard bucket.ready() <= now else { return bucket.ready() }
    bucket.spend(at: now)
    return nil
  }

  /// A channel's broadcast, of either priority, got 429 `TooManyRequests` or a 5xx.
  ///
  /// - Returns: whether the rate fell.
  package mutating func slowed(_ channel: Channel, at now: Moment) -> Bool {
    rise(until: now)
    risenUntil = max(risenUntil, now)
    refusals.removeAll { $0.channel == channel || now - $0.at > settings.window }
    refusals.append((channel, now))
    guard refusals.count >= settings.channels else { return false }
    if refusals.count > settings.channels { refusals.removeFirst() }
    if let lastDown, now - lastDown < settings.window { return false }
    lastDown = now
    setRate(max(settings.floor, requestsPerSecond * settings.down), at: now)
    return true
  }

  private mutating func rise(until now: Moment) {
    let seconds = (now - risenUntil).components.seconds
    guard seconds > 0 else { return }
    risenUntil += .seconds(seconds)
    setRate(min(settings.ceiling, requestsPerSecond + settings.up * Double(seconds)), at: now)
  }

  private mutating func setRate(_ rate: Double, at now: Moment) {
    guard rate != requestsPerSecond else { return }
    requestsPerSecond = rate
    bucket = AppRate.bucket(rate, level: bucket.level(at: now), at: now)
  }

  private static func bucket(_ rate: Double, level: Double, at now: Moment) -> TokenBucket {
    TokenBucket(
      refillInterval: .nanoseconds(Int64((1e9 / rate).rounded(.up))), capacity: max(1, Int(rate)),
      level: level, at: now)
  }
}
