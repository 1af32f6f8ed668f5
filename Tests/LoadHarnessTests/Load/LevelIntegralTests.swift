import Testing

@testable import LoadHarness

@Suite struct `The mean of a level` {
  @Test func `is right within spans and over them`() {
    var level = LevelIntegral(spanNanoseconds: 100)
    level.step(1, at: 50)
    level.step(2, at: 250)
    level.step(-3, at: 375)
    #expect(level.means(count: 6) == [0.5, 1, 2, 2.25, 0, 0])
  }

  @Test func `takes steps in any order`() {
    var forward = LevelIntegral(spanNanoseconds: 10)
    var backward = LevelIntegral(spanNanoseconds: 10)
    let steps: [(Double, Int64)] = [(1, 3), (1, 17), (-1, 20), (4, 41), (-5, 45)]
    for (height, moment) in steps { forward.step(height, at: moment) }
    for (height, moment) in steps.reversed() { backward.step(height, at: moment) }
    let pairs = zip(forward.means(count: 5), backward.means(count: 5))
    #expect(pairs.allSatisfy { abs($0 - $1) < 1e-12 })
  }

  @Test func `stays where it is when nothing more comes`() {
    var level = LevelIntegral(spanNanoseconds: 10)
    level.step(7, at: 0)
    #expect(level.means(count: 3) == [7, 7, 7])
  }
}
