import Foundation
import Testing

@testable import FieldTrips

@Suite struct `Trace statistics` {
  private func statistics(_ captures: [(Double, String)]) -> TraceStatistics {
    TraceStatistics(
      CaptureTrace(
        name: "walk",
        captures: captures.map {
          CaptureTrace.Capture(offsetSeconds: $0.0, observer: $0.1, place: "P")
        }))
  }

  @Test func `of an empty trace are zero`() {
    #expect(statistics([]).captures == 0)
    #expect(statistics([(0, "o1")]).peak60Seconds == 1)
  }

  @Test func `measure gaps, windows and stacks`() {
    let found = statistics([
      (0, "o1"), (0, "o1"), (0, "o1"), (10, "o2"), (59, "o3"), (60, "o3"), (180, "o1"),
    ])
    #expect(found.meanGapSeconds == 30)
    #expect(found.medianGapSeconds == 5.5)
    #expect(found.longestGapSeconds == 120)
    #expect(found.zeroGapShare == 2.0 / 6)
    #expect(found.peak1Second == 3)
    #expect(found.peak10Seconds == 3)
    #expect(found.peak60Seconds == 5)
    #expect(found.mostObserversInMinute == 3)
    #expect(found.largestStack == 3)
    #expect(found.busiestObserverShare == 4.0 / 7)
    // Five in the first minute, then one, none, one: mean 1.75, variance 3.6875.
    #expect(found.fano == 3.6875 / 1.75)
    #expect(found.busyMinuteShare == 0.75)
  }

  @Test func `of an even stream have no variation`() {
    let found = statistics((0..<600).map { (Double($0 * 6), "o1") })
    #expect(found.gapVariation == 0)
    #expect(found.fano == 0)
    #expect(found.offMinuteShare == 0.9)
  }

  /// Recorded events with figures that others computed: captures, observers, places, the gaps'
  /// variation, and Fano. Runs where a folder of recorded events is given.
  @Test(
    .enabled(if: ProcessInfo.processInfo.environment["FIELDCAST_TRACES"] != nil),
    arguments: [
      ("vienna-2021-05-01", 2268, 97, 46, 5.46, 2.73),
      ("st-poelten-2021-05-01", 1076, 49, 29, 1.49, 1.79),
      ("belize-manatee-forest-2025-08-30", 516, 21, 12, 2.32, 2.18),
      ("falmouth-shore-2025-04-12", 238, 8, 8, 1.94, 1.33),
    ])
  func `agree with figures computed elsewhere`(
    name: String, captures: Int, observers: Int, places: Int, variation: Double, fano: Double
  ) throws {
    let folder = ProcessInfo.processInfo.environment["FIELDCAST_TRACES"] ?? ""
    let file = URL(fileURLWithPath: folder).appendingPathComponent(name + ".csv")
    let data = try Data(contentsOf: file)
    let found = TraceStatistics(try CaptureTrace.parse(csv: [UInt8](data), name: name))
    #expect(found.captures == captures)
    #expect(found.observers == observers)
    #expect(found.places == places)
    #expect(abs(found.gapVariation - variation) < 0.01)
    #expect(abs(found.fano - fano) < 0.01)
  }
}
