package import Clocks
internal import Glibc

/// The machine's monotonic clock, which stands still for nobody and is never stepped.
package enum MonotonicClock {
  package static func now() -> Moment {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return Moment(nanoseconds: Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec))
  }
}

/// The machine's wall clock, which people and NTP may step.
package enum WallClock {
  package static func now() -> UnixTime {
    var time = timespec()
    clock_gettime(CLOCK_REALTIME, &time)
    return UnixTime(nanoseconds: Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec))
  }
}

/// The clocks of a machine that is simulated: they read what a test says.
package protocol SimulatedClocks: AnyObject, Sendable {
  var monotonic: Moment { get }
  var wall: UnixTime { get }
}

/// The time that a service and its phones live in: the machine's own, or an event's at a multiple
/// of its speed.
///
/// A demo plays a day in minutes by giving the service, the simulator and the phones one scaled
/// clock, so that budgets and timestamps stay those of the event. Deadlines of sockets are real
/// time and never scaled.
package struct ServiceClock: Sendable {
  /// How many seconds of service time pass in a real second; 1 outside demos and tests.
  package let speed: Double
  private let realOrigin: Moment
  private let wallAtOrigin: UnixTime
  private let follows: Bool
  private let simulation: (any SimulatedClocks)?

  /// The machine's own clocks.
  package init() { self.init(following: nil) }

  /// The clocks of a simulated machine.
  package init(simulation: any SimulatedClocks) { self.init(following: simulation) }

  private init(following simulation: (any SimulatedClocks)?) {
    speed = 1
    realOrigin = .origin
    wallAtOrigin = UnixTime(nanoseconds: 0)
    follows = true
    self.simulation = simulation
  }

  /// A clock that read `start` when the machine's wall clock read `realWall`.
  ///
  /// Two processes that are given the same three numbers share the time, also across a restart.
  package init(speed: Double, startingAt start: UnixTime, at realWall: UnixTime) {
    precondition(speed > 0, "a clock runs forward")
    self.speed = speed
    let realNow = WallClock.now()
    realOrigin = MonotonicClock.now()
    wallAtOrigin = start + .nanoseconds(Int64((realNow - realWall).inSeconds * speed * 1e9))
    follows = false
    simulation = nil
  }

  package var now: Moment { simulation?.monotonic ?? now(at: MonotonicClock.now()) }

  /// This clock's moment at a moment of the machine's monotonic clock.
  package func now(at real: Moment) -> Moment {
    if follows { return real }
    let passed = Double(real.nanoseconds - realOrigin.nanoseconds) * speed
    return Moment(nanoseconds: realOrigin.nanoseconds + Int64(passed))
  }

  package var wall: UnixTime {
    if follows { return simulation?.wall ?? WallClock.now() }
    let passed = Double((MonotonicClock.now() - realOrigin).wholeNanoseconds) * speed
    return UnixTime(nanoseconds: wallAtOrigin.nanoseconds + Int64(passed))
  }

  /// How long a span of service time takes on the machine's clock.
  package func real(_ scaled: Duration) -> Duration {
    follows ? scaled : .nanoseconds(Int64(Double(scaled.wholeNanoseconds) / speed))
  }

  /// How much service time passes in a span of real time.
  package func scaled(_ real: Duration) -> Duration {
    follows ? real : .nanoseconds(Int64(Double(real.wholeNanoseconds) * speed))
  }

  /// The machine's moment at which this clock will read `moment`.
  package func real(at moment: Moment) -> Moment {
    if follows || moment == .distantFuture { return moment }
    let ahead = Double(moment.nanoseconds - realOrigin.nanoseconds) / speed
    return Moment(nanoseconds: realOrigin.nanoseconds + Int64(ahead.rounded(.up)))
  }
}
