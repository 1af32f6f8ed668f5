import Testing

@testable import LoadHarness

@Suite struct `The first cards of trips` {
  @Test func `count once each, in whatever order one hears of trip and card`() {
    var cards = FirstCards()
    cards.know("a")
    cards.accept("a")
    #expect(cards.count == 1)
    // APNs was faster than the answer that says whose channel it is.
    cards.accept("b")
    #expect(cards.count == 1)
    cards.know("b")
    #expect(cards.count == 2)
    cards.accept("b")
    cards.know("a")
    cards.accept("of another app")
    #expect(cards.count == 2)
  }
}
