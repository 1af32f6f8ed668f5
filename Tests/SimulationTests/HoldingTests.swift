import Clocks
import FieldTrips
import Randomness
import Testing
import TripStore

@testable import FieldcastServer

@Suite struct `A partition in a node's hands` {
  private func entry(_ number: UInt64, _ trip: TripID) -> LogItem {
    .entry(
      LogEntry(
        logID: LogID(milliseconds: number, sequence: 0), trip: trip, kind: .note, id: "n\(number)",
        body: [], acceptedAt: UnixTime(milliseconds: 1)))
  }

  @Test func `gives out no entry whose trip nobody has looked for`() {
    var random = SplitMix64(seed: 1)
    let (first, second) = (TripID(using: &random), TripID(using: &random))
    let holding = Holding(
      Ownership(partition: Partition(number: 0), epoch: Epoch(1)), cursor: .start)
    holding.receive([entry(1, first), entry(2, first)])
    #expect(holding.missingTrips(inFirst: 10) == [first])
    // While that trip is read, more comes in.
    holding.receive([entry(3, second)])
    #expect(holding.takeItems().map(\.logID.milliseconds) == [1, 2])
    #expect(holding.takeItems().isEmpty)
    #expect(holding.missingTrips(inFirst: 10) == [second])
    #expect(holding.takeItems().map(\.logID.milliseconds) == [3])
    #expect(holding.inbox.isEmpty)
  }
}
