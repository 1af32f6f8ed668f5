import Clocks
import Randomness

/// What happened in a run: a digest always, and a line for each event when somebody is to read it.
final class Trace {
  let isKept: Bool
  private(set) var lines: [String] = []
  private(set) var digest: UInt64 = 0
  private(set) var count = 0

  init(isKept: Bool) { self.isKept = isKept }

  /// - Parameters:
  ///   - place: a node, `redis`, `apns`, a phone.
  ///   - mark: goes into the digest with the time: something that tells this event from others.
  func note(
    _ world: World, _ place: @autoclosure () -> String, mark: Int,
    _ text: @autoclosure () -> String
  ) {
    count += 1
    digest = SplitMix64.mixed(
      digest ^ UInt64(bitPattern: world.now.nanoseconds) &+ UInt64(bitPattern: Int64(mark)))
    guard isKept else { return }
    let milliseconds = world.elapsed.wholeNanoseconds / 1_000_000
    let rest = "\(milliseconds % 1_000)"
    let time = "\(milliseconds / 1_000).\(String(repeating: "0", count: 3 - rest.count))\(rest)"
    lines.append("\(time) \(place()): \(text())")
  }
}
