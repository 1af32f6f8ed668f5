import Testing

@testable import LoadHarness

@Suite struct `The sampler of stages` {
  private static let millisecond: Int64 = 1_000_000

  private func position(_ number: Int64) -> StageSampler.LogPosition {
    StageSampler.LogPosition(milliseconds: UInt64(number), sequence: 0)
  }

  private func log(
    _ scheduled: Int64, _ logged: Int64, _ sampler: inout StageSampler, trip: Int = 0
  ) {
    sampler.logged(
      StageSampler.Logged(
        scheduledAt: scheduled * Self.millisecond, loggedAt: logged * Self.millisecond,
        position: position(logged)),
      trip: trip, partition: 4)
  }

  @Test func `splits a capture's way at the stamps that others made`() {
    var sampler = StageSampler(spanNanoseconds: 1_000_000_000)
    log(10, 12, &sampler)
    log(20, 25, &sampler)
    #expect(sampler.waitingPartitions == [4])
    sampler.committed(4, upTo: position(12), at: 15 * Self.millisecond)
    #expect(sampler.waitingPartitions == [4])
    sampler.committed(4, upTo: position(25), at: 26 * Self.millisecond)
    #expect(sampler.waitingPartitions.isEmpty)
    sampler.accepted(0, notes: 2, at: 126 * Self.millisecond)
    #expect(sampler.ingest.maxMicroseconds == 5_000)
    #expect(sampler.commit.maxMicroseconds == 3_000)
    #expect(sampler.commit.quantile(0) == 1_000 || sampler.commit.quantile(0) > 999)
    #expect(sampler.publisher.maxMicroseconds == 111_000)
    #expect(sampler.publisher.count == 2)
    #expect(sampler.lagBySpan[0].maxMicroseconds == 6_000)
  }

  @Test func `takes the first broadcast that carries a note, and no later one`() {
    var sampler = StageSampler(spanNanoseconds: 1_000_000_000)
    for number in 1...3 { log(Int64(number), Int64(number), &sampler) }
    sampler.committed(4, upTo: position(3), at: 3 * Self.millisecond)
    sampler.accepted(0, notes: 1, at: 4 * Self.millisecond)
    sampler.accepted(0, notes: 1, at: 5 * Self.millisecond)
    #expect(sampler.publisher.count == 1)
    sampler.accepted(0, notes: 3, at: 9 * Self.millisecond)
    #expect(sampler.publisher.count == 3)
    #expect(sampler.publisher.maxMicroseconds == 6_000)
  }

  @Test func `puts a capture into all parts or into none`() {
    var sampler = StageSampler(spanNanoseconds: 1_000_000_000)
    for number in 1...3 { log(Int64(number), Int64(number), &sampler) }
    sampler.committed(4, upTo: position(2), at: 3 * Self.millisecond)
    sampler.accepted(0, notes: 1, at: 4 * Self.millisecond)
    for part in [sampler.ingest, sampler.commit, sampler.publisher] { #expect(part.count == 1) }
    #expect(sampler.captures == 3 && sampler.complete == 1)
    // Shown before its commit was seen: the two parts still add up to its way.
    sampler.accepted(0, notes: 3, at: 9 * Self.millisecond)
    for part in [sampler.ingest, sampler.commit, sampler.publisher] { #expect(part.count == 3) }
    #expect(sampler.commit.maxMicroseconds == 6_000)
    sampler.committed(4, upTo: position(3), at: 12 * Self.millisecond)
    #expect(sampler.complete == 3)
  }

  @Test func `keeps nothing of trips that it does not follow`() {
    var sampler = StageSampler(spanNanoseconds: 1_000_000_000)
    sampler.accepted(7, notes: 3, at: 3 * Self.millisecond)
    #expect(sampler.tripsLost == 0)
    sampler.follow(7)
    sampler.accepted(7, notes: 3, at: 3 * Self.millisecond)
    #expect(sampler.tripsLost == 1)
  }

  @Test func `waits for the log when it hears of a card first`() {
    var sampler = StageSampler(spanNanoseconds: 1_000_000_000)
    log(1, 1, &sampler)
    sampler.accepted(0, notes: 2, at: 3 * Self.millisecond)
    sampler.accepted(0, notes: 3, at: 5 * Self.millisecond)
    #expect(sampler.complete == 1)
    #expect(sampler.tripsLost == 1)
    log(2, 2, &sampler)
    log(3, 4, &sampler)
    #expect(sampler.complete == 3)
    #expect(sampler.tripsLost == 0)
    // From the log to the first card that showed it: 2, 1 and 1 ms.
    #expect(sampler.commit.meanMicroseconds == 4_000 / 3.0)
  }

  @Test func `remembers only what is under way`() {
    var sampler = StageSampler(spanNanoseconds: 1_000_000_000)
    for number in 1...5_000 {
      let moment = Int64(number)
      log(moment, moment, &sampler)
      sampler.committed(4, upTo: position(moment), at: moment * Self.millisecond)
      sampler.accepted(0, notes: number, at: moment * Self.millisecond)
    }
    #expect(sampler.publisher.count == 5_000)
    #expect(sampler.remembered(0) < 1_000)
  }
}
