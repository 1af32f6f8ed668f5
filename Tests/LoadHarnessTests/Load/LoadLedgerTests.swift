import Testing

@testable import LoadHarness

@Suite struct `The ledger of a load` {
  private static let second: Int64 = 1_000_000_000

  private func ledger(trips: Int = 1) -> LoadLedger {
    LoadLedger(trips: trips, spanNanoseconds: Self.second, endNanoseconds: 10 * Self.second)
  }

  private func broadcast(
    _ notes: Int?, at seconds: Double, trip: Int = 0, priority: Int = 10, phones: Int = 2,
    delays: [Int] = [100_000, 300_000]
  ) -> SeenBroadcast {
    SeenBroadcast(
      trip: trip, acceptedAt: Int64(seconds * 1e9), priority: priority, notes: notes,
      phones: phones, delays: delays, lastDelay: delays.last)
  }

  private func captures(_ seconds: Double..., into ledger: inout LoadLedger, trip: Int = 0) {
    for moment in seconds { ledger.capture(trip, at: Int64(moment * 1e9)) }
  }

  @Test func `counts each wait from the capture's own moment to the first card that shows it`() {
    var ledger = ledger()
    captures(1, 2, 3, into: &ledger)
    ledger.take(broadcast(2, at: 4))
    ledger.take(broadcast(2, at: 5))
    ledger.take(broadcast(3, at: 6))
    #expect(ledger.toAPNs.count == 3)
    // 3, 2 and 3 seconds.
    #expect(ledger.toAPNs.maxMicroseconds == 3_000_000)
    #expect(abs(ledger.toAPNs.meanMicroseconds - 8e6 / 3) < 1)
    #expect(ledger.capturesShown == 3)
    #expect(ledger.broadcasts == [10: 3])
    #expect(ledger.broadcastsWithNews == [10: 2])
  }

  @Test func `takes what was never shown for the longest waits, on each phone`() {
    var ledger = ledger(trips: 2)
    captures(1, 2, 3, into: &ledger)
    captures(4, into: &ledger, trip: 1)
    ledger.take(broadcast(2, at: 4))
    ledger.end(phonesPerTrip: 2)
    #expect(ledger.toAPNs.count == 2 && ledger.toAPNs.endless == 2)
    #expect(ledger.toPhones.count == 4 && ledger.toPhones.endless == 4)
    #expect(ledger.toLastPhone.endless == 2)
    #expect(ledger.toAPNs.quantile(0.5) == 3_000_000)
    #expect(ledger.toAPNs.quantile(0.99) == LatencyHistogram.never)
    #expect(ledger.spans[3].toAPNs.endless == 1 && ledger.spans[4].toAPNs.endless == 1)
  }

  @Test func `weighs each phone alike`() {
    var ledger = ledger()
    captures(1, into: &ledger)
    // Three phones behind two points: one stands for one of them, the other for two.
    ledger.take(broadcast(1, at: 2, phones: 3))
    #expect(ledger.toPhones.count == 3)
    #expect(ledger.toPhones.maxMicroseconds == 1_300_000)
    #expect(ledger.toLastPhone.maxMicroseconds == 1_300_000)
    #expect(ledger.phonesReached == 3)
    #expect(abs(ledger.toPhones.meanMicroseconds - (1_100_000 + 2 * 1_300_000) / 3.0) < 1)
  }

  @Test func `lets phones that a broadcast missed wait until a later one reaches them`() {
    var ledger = ledger()
    captures(1, into: &ledger)
    var lossy = broadcast(1, at: 2, phones: 4)
    lossy.lost = 2
    ledger.take(lossy)
    #expect(ledger.toPhones.count == 2)
    #expect(ledger.toLastPhone.isEmpty)
    #expect(ledger.deliveriesLost == 2)
    // It shows nothing new, and reaches half of those that wait, as of all.
    lossy.acceptedAt = 5 * Self.second
    ledger.take(lossy)
    #expect(ledger.toPhones.count == 3)
    #expect(ledger.toLastPhone.isEmpty)
    captures(6, into: &ledger)
    ledger.take(broadcast(2, at: 7, phones: 4))
    // Four each, of which the first capture's last waited 6 s and its way.
    #expect(ledger.toPhones.count == 8)
    #expect(ledger.toPhones.maxMicroseconds == 6_300_000)
    #expect(ledger.toLastPhone.count == 2)
    #expect(ledger.spans[1].toPhones.count == 4)
  }

  @Test func `takes phones that were never reached for the longest waits`() {
    var ledger = ledger()
    captures(1, into: &ledger)
    var lossy = broadcast(1, at: 2, phones: 5)
    lossy.lost = 3
    ledger.take(lossy)
    ledger.end(phonesPerTrip: 5)
    #expect(ledger.toPhones.count == 2 && ledger.toPhones.endless == 3)
    #expect(ledger.toLastPhone.endless == 1)
    #expect(ledger.toAPNs.endless == 0)
  }

  @Test func `leaves out the cards that came before the load, and ends without a state`() {
    var ledger = ledger()
    ledger.take(broadcast(0, at: -1))
    captures(1, into: &ledger)
    ledger.take(broadcast(nil, at: 2))
    #expect(ledger.broadcasts == [10: 1])
    #expect(ledger.capturesBehind == 1)
  }

  @Test func `takes a card for wrong from the capture until it is on the phones`() {
    var ledger = ledger()
    captures(1, into: &ledger)
    // On the phones, on average, 0.2 s after 2 s: wrong for 1.2 s of 10.
    ledger.take(broadcast(1, at: 2))
    #expect(abs(ledger.shareWrong - 0.12) < 1e-9)
    // Captured while that was on its way: the time until its arrival is not counted twice.
    captures(2.1, into: &ledger)
    ledger.take(broadcast(2, at: 2.8))
    #expect(abs(ledger.shareWrong - 0.2) < 1e-9)
  }

  @Test func `keeps a card wrong over a broadcast that came too early for the next capture`() {
    var ledger = ledger()
    captures(1, 1.5, into: &ledger)
    // Heard of only now, after the second capture.
    ledger.take(broadcast(1, at: 1.2, delays: [0, 0]))
    #expect(abs(ledger.shareWrong - (0.2 + 8.5) / 10) < 1e-9)
    ledger.take(broadcast(2, at: 3, delays: [0, 0]))
    #expect(abs(ledger.shareWrong - (0.2 + 1.5) / 10) < 1e-9)
  }

  @Test func `leaves out what is wrong after the last capture could come`() {
    var ledger = ledger(trips: 2)
    captures(9, into: &ledger)
    ledger.take(broadcast(1, at: 30))
    #expect(abs(ledger.shareWrong - 1.0 / 20) < 1e-9)
  }

  @Test func `averages notes behind over trips and time`() {
    var ledger = ledger(trips: 2)
    captures(1, 1.5, into: &ledger)
    ledger.take(broadcast(2, at: 2.5, delays: [0, 0]))
    let behind = ledger.meanNotesBehind(spans: 4)
    // Trip 0 was behind by 1 for a second and a half, and by 2 for one; trip 1 never.
    #expect(behind.map { ($0 * 8).rounded() / 8 } == [0, 0.75, 0.5, 0])
  }

  @Test func `takes a repeated or older count for no news`() {
    var ledger = ledger()
    captures(1, 2, into: &ledger)
    ledger.take(broadcast(2, at: 3))
    ledger.take(broadcast(1, at: 4))
    #expect(ledger.toAPNs.count == 2)
    #expect(ledger.capturesBehind == 0)
  }
}
