import FieldTrips
import Foundation
import Testing

/// Where the capture traces are. Their rows are other people's, so they are read in place.
enum TraceFolder {
  static let path = ProcessInfo.processInfo.environment["FIELDCAST_TRACES"]

  static func trip(_ name: String) throws -> ReplayTrip {
    let file = URL(filePath: try #require(path)).appending(path: "\(name).csv")
    let trace = try CaptureTrace.parse(csv: [UInt8](Data(contentsOf: file)), name: name)
    return ReplayTrip(spreading: trace)
  }
}

/// One line of the reference table: a trace at a budget.
struct ReferenceRow: Sendable, CustomTestStringConvertible {
  let trace: String
  let budget: Int
  let leastArea: Double
  let ruleArea: Double
  let ruleBroadcasts: Int
  let bucketArea: Double
  let leastWrongTime: Double
  let leastMaxWait: Int

  var refillSeconds: Int { 3_600 / budget }
  var capacity: Int { budget / 6 }
  var policy: PublishingPolicy {
    var policy = PublishingPolicy()
    policy.budgetPerHour = Double(budget)
    return policy
  }
  var testDescription: String { "\(trace) at \(budget) an hour" }

  init(
    _ trace: String, _ budget: Int, _ leastArea: Double, _ ruleArea: Double, _ ruleBroadcasts: Int,
    _ bucketArea: Double, _ leastWrongTime: Double, _ leastMaxWait: Int
  ) {
    self.trace = trace
    self.budget = budget
    self.leastArea = leastArea
    self.ruleArea = ruleArea
    self.ruleBroadcasts = ruleBroadcasts
    self.bucketArea = bucketArea
    self.leastWrongTime = leastWrongTime
    self.leastMaxWait = leastMaxWait
  }

  /// Computed once by an independent program from the same traces.
  static let all = [
    ReferenceRow("belize-manatee-forest-2025-08-30", 30, 10_013, 23_645, 214, 25_809, 4_146, 89),
    ReferenceRow("belize-manatee-forest-2025-08-30", 60, 2_072, 6_841, 342, 7_518, 1_229, 37),
    ReferenceRow("belize-manatee-forest-2025-08-30", 120, 280, 1_233, 443, 1_736, 232, 9),
    ReferenceRow("belle-park-2022-05-26", 30, 1_910, 5_601, 110, 5_934, 1_087, 74),
    ReferenceRow("belle-park-2022-05-26", 60, 306, 1_465, 147, 1_651, 233, 23),
    ReferenceRow("belle-park-2022-05-26", 120, 0, 74, 176, 0, 0, 0),
    ReferenceRow("falmouth-shore-2025-04-12", 30, 6_424, 13_507, 58, 14_040, 2_598, 87),
    ReferenceRow("falmouth-shore-2025-04-12", 60, 1_726, 4_518, 111, 6_394, 1_152, 30),
    ReferenceRow("falmouth-shore-2025-04-12", 120, 59, 666, 204, 855, 57, 6),
    ReferenceRow("neusiedler-see-2021-05-01", 30, 16_551, 36_930, 292, 39_596, 8_190, 87),
    ReferenceRow("neusiedler-see-2021-05-01", 60, 4_034, 11_030, 480, 14_293, 3_003, 35),
    ReferenceRow("neusiedler-see-2021-05-01", 120, 0, 200, 722, 0, 0, 0),
    ReferenceRow("st-poelten-2021-05-01", 30, 22_907, 55_875, 359, 60_752, 10_842, 88),
    ReferenceRow("st-poelten-2021-05-01", 60, 4_849, 15_701, 642, 19_965, 3_302, 36),
    ReferenceRow("st-poelten-2021-05-01", 120, 318, 1_898, 922, 2_000, 258, 9),
    ReferenceRow("vienna-2021-05-01", 30, 77_810, 124_120, 383, 127_723, 20_783, 107),
    ReferenceRow("vienna-2021-05-01", 60, 29_136, 54_444, 711, 59_120, 13_186, 48),
    ReferenceRow("vienna-2021-05-01", 120, 7_349, 18_060, 1_267, 23_385, 5_205, 19),
    ReferenceRow("waidhofen-2021-05-01", 30, 5_663, 15_666, 214, 19_323, 3_055, 85),
    ReferenceRow("waidhofen-2021-05-01", 60, 1_073, 3_429, 306, 4_473, 816, 28),
    ReferenceRow("waidhofen-2021-05-01", 120, 0, 106, 389, 0, 0, 0),
  ]
}

@Suite(
  .enabled(
    if: TraceFolder.path != nil,
    "Set FIELDCAST_TRACES to the folder of the capture traces to compare with their reference values."
  ))
struct `The replay over the capture traces` {
  @Test(arguments: ReferenceRow.all)
  func `finds the reference values`(_ row: ReferenceRow) throws {
    let trip = try TraceFolder.trip(row.trace)
    let reference = PolicyReplay.Policy.rule(row.policy.withReferenceRule)
    let rule = ReplayMetrics(trip, broadcasts: PolicyReplay.broadcasts(of: reference, over: trip))
    #expect(abs(rule.area - row.ruleArea) <= 0.005 * row.ruleArea, "\(rule)")
    #expect(abs(rule.broadcasts - row.ruleBroadcasts) <= row.ruleBroadcasts / 100, "\(rule)")
    let bucket = PolicyReplay.Policy.tokenBucket(
      ReplayBudget(refillSeconds: row.refillSeconds, capacity: row.capacity))
    let greedy = ReplayMetrics(trip, broadcasts: PolicyReplay.broadcasts(of: bucket, over: trip))
    #expect(greedy.area == row.bucketArea)
    let bound = ClairvoyantBound(trip, refillSeconds: row.refillSeconds, capacity: row.capacity)
    #expect(bound.leastArea() == row.leastArea)
    #expect(bound.leastWrongTime() == row.leastWrongTime)
    #expect(bound.leastMaxWait() == row.leastMaxWait)
  }

  /// Pooled over the traces, with the known least areas.
  private func stalenessRatio(
    at budget: Int, _ policy: (ReferenceRow) -> PolicyReplay.Policy
  ) throws -> Double {
    let trips = try ReferenceRow.all.filter { $0.budget == budget }.map { row in
      let trip = try TraceFolder.trip(row.trace)
      let broadcasts = PolicyReplay.broadcasts(of: policy(row), over: trip)
      return (ReplayMetrics(trip, broadcasts: broadcasts), row.leastArea)
    }
    return ReplayMetrics.stalenessRatio(trips)
  }

  @Test(arguments: zip([30, 60, 120], [(1.91, 1.85), (2.11, 1.91), (2.05, 1.90)]))
  func `keeps the group closer to the truth than the reference rule`(
    _ budget: Int, _ ratios: (reference: Double, standard: Double)
  ) throws {
    let reference = try stalenessRatio(at: budget) { .rule($0.policy.withReferenceRule) }
    let standard = try stalenessRatio(at: budget) { .rule($0.policy) }
    #expect(abs(reference - ratios.reference) < 0.01)
    #expect(standard <= ratios.standard, "\(standard)")
  }

  @Test(
    arguments: zip([30, 60, 120], [(2.03, 2.14, 2.31), (2.44, 2.98, 3.45), (2.48, 4.59, 6.37)]))
  func `finds what others would lose`(
    _ budget: Int, _ ratios: (bucket: Double, throttle: Double, clock: Double)
  ) throws {
    let bucket = try stalenessRatio(at: budget) {
      .tokenBucket(ReplayBudget(refillSeconds: $0.refillSeconds, capacity: $0.capacity))
    }
    let throttle = try stalenessRatio(at: budget) { .throttle(seconds: $0.refillSeconds) }
    let clock = try stalenessRatio(at: budget) { .fixedClock(seconds: $0.refillSeconds) }
    #expect(abs(bucket - ratios.bucket) <= 0.006)
    #expect(abs(throttle - ratios.throttle) <= 0.006)
    #expect(abs(clock - ratios.clock) <= 0.006)
  }

  @Test(arguments: ReferenceRow.all)
  func `keeps no note waiting for longer than a token takes`(_ row: ReferenceRow) throws {
    let trip = try TraceFolder.trip(row.trace)
    let broadcasts = PolicyReplay.broadcasts(of: .rule(row.policy), over: trip)
    #expect(ReplayMetrics(trip, broadcasts: broadcasts).maxWait <= Double(row.refillSeconds))
    let anchors = broadcasts.reduce(into: [-row.refillSeconds * row.capacity]) { anchors, second in
      let full = second - row.refillSeconds * row.capacity
      anchors.append(max(anchors[anchors.count - 1], full) + row.refillSeconds)
    }
    #expect(zip(broadcasts, anchors.dropFirst()).allSatisfy { $1 <= $0 })
  }
}
