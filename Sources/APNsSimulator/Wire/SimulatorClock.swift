internal import Clocks
internal import Transport

/// The simulator's time: a service clock that tests may put forward, so that eight hours pass
/// between two lines.
struct SimulatorClock: Sendable {
  let base: ServiceClock
  private(set) var ahead: Duration = .zero

  init(_ base: ServiceClock) { self.base = base }

  var now: UnixTime { base.wall + ahead }

  mutating func advance(by span: Duration) {
    precondition(span >= .zero, "time does not go back")
    ahead += span
  }
}
