import Clocks
import Randomness
import Testing

@testable import FieldTrips

@Suite struct `A notification's life` {
  private let start = UnixTime(wholeSeconds: 1_790_000_000)
  private let rules = NotificationRules()

  private func life(
    sendIn seconds: Int64?, expiresIn: Int64? = nil, source: Bool = false
  ) throws -> NotificationLife {
    var text = #"{"to":{"member":"a"},"alert":{"body":"fallback"}"#
    if let seconds { text += ",\"sendAt\":\(1_790_000_000 + seconds)" }
    if let expiresIn { text += ",\"expiresAt\":\(1_790_000_000 + expiresIn)" }
    if source {
      text += #","source":{"name":"n","url":"https://h.example/","several":{"body":"{count}"}}"#
    }
    return NotificationLife(
      try NotificationRequest.read(Array((text + "}").utf8), now: start), at: start, rules: rules)
  }

  private var content: FetchedContent {
    get throws {
      let page = try ContentPage.read(Array(#"{"items":[{"body":"x"}],"cursor":"1"}"#.utf8))
      return try #require(FetchedContent(page, after: nil))
    }
  }

  private func after(_ seconds: Int64) -> UnixTime { start + .seconds(seconds) }

  @Test func `without a source waits for its time, armed`() throws {
    var life = try life(sendIn: 600)
    #expect(life.phase == .armed)
    #expect(life.due == after(600))
    let early = life.wake(at: after(10), rules: rules)
    #expect(early == .rest)
    let step = life.wake(at: after(600), rules: rules)
    #expect(step == .send)
    #expect(life.phase == .sending)
    life.tried(reached: 2, left: 0, retryAfter: nil, reason: nil, at: after(601), rules: rules)
    #expect(life.phase == .sent)
    #expect(life.due == nil)
  }

  @Test func `to members without a card looks for more of them, ever more seldom`() throws {
    var life = try life(sendIn: 0)
    _ = life.wake(at: start, rules: rules)
    var now = start
    var looks: [Int64] = []
    while life.phase == .sending, looks.count < 100 {
      life.tried(
        reached: 1, left: 0, retryAfter: nil, reason: nil, looksAgain: true, at: now, rules: rules)
      guard let due = life.due else { break }
      looks.append(due.wholeSeconds - start.wholeSeconds)
      now = due
      _ = life.wake(at: now, rules: rules)
    }
    #expect(looks == [30, 60, 120, 240, 480])
    #expect(life.phase == .sent)
  }

  @Test func `with a source is armed only by its content`() throws {
    var life = try life(sendIn: 3_600, source: true)
    #expect(life.phase == .scheduled)
    #expect(life.due == after(3_300))
    let step = life.wake(at: after(3_300), rules: rules)
    #expect(step == .fetch)
    life.fetched(try content, whenEmpty: .skip, at: after(3_301))
    #expect(life.phase == .armed)
    #expect(life.due == after(3_600))
  }

  @Test func `slips while content is late, fifteen minutes at most`() throws {
    var life = try life(sendIn: 3_600, source: true)
    var now = after(3_300)
    while life.phase == .scheduled {
      guard life.wake(at: now, rules: rules) == .fetch else { break }
      life.fetchFailed("It answered 503.", at: now, rules: rules)
      now = try #require(life.due)
    }
    #expect(life.phase == .sending)
    #expect(life.usesFallback)
    #expect(now == after(3_600 + 900))
    #expect(life.failedFetches > 8)
  }

  @Test func `goes out late with content that came late`() throws {
    var life = try life(sendIn: 3_600, source: true)
    life.fetchFailed("x", at: after(4_000), rules: rules)
    life.fetched(try content, whenEmpty: .skip, at: after(4_100))
    #expect(life.due == after(4_100))
    let step = life.wake(at: after(4_100), rules: rules)
    #expect(step == .send)
    #expect(!life.usesFallback)
  }

  @Test func `looks once more when there was nothing ahead of its time`() throws {
    var life = try life(sendIn: 3_600, source: true)
    life.fetched(nil, whenEmpty: .skip, at: after(3_300))
    #expect(life.phase == .scheduled)
    #expect(life.due == after(3_600))
    var other = life
    life.fetched(nil, whenEmpty: .skip, at: after(3_600))
    #expect(life.phase == .skipped)
    other.fetched(nil, whenEmpty: .fallback, at: after(3_600))
    #expect(other.phase == .armed)
    #expect(other.usesFallback)
  }

  @Test func `tries devices again that were put off, until it expires`() throws {
    var life = try life(sendIn: nil, expiresIn: 100)
    _ = life.wake(at: start, rules: rules)
    life.tried(
      reached: 1, left: 3, retryAfter: .seconds(30), reason: nil, at: after(1), rules: rules)
    #expect(life.phase == .sending)
    #expect(life.due == after(31))
    life.tried(
      reached: 1, left: 3, retryAfter: .seconds(80), reason: nil, at: after(31), rules: rules)
    #expect(life.phase == .sent)
  }

  @Test func `is over when its time passed while nobody was there`() throws {
    var plain = try life(sendIn: 600, expiresIn: 900)
    _ = plain.wake(at: after(900), rules: rules)
    #expect(plain.phase == .expired)
    var fetching = try life(sendIn: 600, expiresIn: 900, source: true)
    let step = fetching.wake(at: after(950), rules: rules)
    #expect(step == .rest)
    #expect(fetching.phase == .expired)
  }

  @Test func `fails when nobody was reached`() throws {
    var life = try life(sendIn: nil)
    _ = life.wake(at: start, rules: rules)
    life.tried(reached: 0, left: 0, retryAfter: nil, reason: nil, at: start, rules: rules)
    #expect(life.phase == .failed)
    #expect(life.problem == "There is no device to send to.")
  }

  @Test func `sends nothing after it expired, whoever takes it over`() throws {
    var life = try life(sendIn: nil, expiresIn: 100)
    _ = life.wake(at: start, rules: rules)
    let before = life
    let step = life.wake(at: after(99), rules: rules)
    #expect(step == .send)
    for (reached, phase) in [(3, NotificationLife.Phase.sent), (0, .expired)] {
      var life = before
      let step = life.wake(at: after(100), rules: rules)
      #expect(step == .close)
      life.closed(reached: reached, at: after(100))
      #expect(life.phase == phase)
      #expect(life.due == nil)
      #expect(life.problem != nil)
    }
  }

  @Test func `that becomes impossible was sent all the same, if some got it`() throws {
    for (reached, phase) in [(1, NotificationLife.Phase.sent), (0, .failed)] {
      var life = try life(sendIn: nil)
      _ = life.wake(at: start, rules: rules)
      life.tried(
        reached: reached, left: 2, retryAfter: nil, reason: nil, at: after(1), rules: rules)
      life.fail("The trip is gone.", reached: reached, at: after(6))
      #expect(life.phase == phase)
      #expect(life.problem == "The trip is gone.")
    }
  }

  @Test func `can be cancelled until it is being sent`() throws {
    var life = try life(sendIn: 600)
    let first = life.cancel(at: start)
    #expect(first)
    #expect(life.phase == .cancelled)
    var sending = try self.life(sendIn: nil)
    _ = sending.wake(at: start, rules: rules)
    let second = sending.cancel(at: start)
    #expect(!second)
    #expect(sending.phase == .sending)
  }

  /// Whatever fails and whenever it is woken, it ends, sends in its window, and survives the store.
  @Test(arguments: 0..<200)
  func `ends in time, whatever happens`(seed: Int) throws {
    var random = SplitMix64(seed: UInt64(seed))
    let sendIn = Int64.random(in: 0...4_000, using: &random)
    let expiresIn =
      Bool.random(using: &random)
      ? sendIn + Int64.random(in: 1...2_000, using: &random) : nil
    let hasSource = Bool.random(using: &random)
    var life = try life(sendIn: sendIn, expiresIn: expiresIn, source: hasSource)
    var now = start
    var firstSend: UnixTime?
    for _ in 0..<500 {
      guard let due = life.due else { break }
      // Woken late now and then, as after a crash.
      now = max(now, due) + .seconds(Int64.random(in: 0...20, using: &random))
      switch life.wake(at: now, rules: rules) {
      case .fetch:
        switch Int.random(in: 0..<8, using: &random) {
        case 0: life.fetched(try content, whenEmpty: .skip, at: now)
        case 1: life.fetched(nil, whenEmpty: .fallback, at: now)
        default: life.fetchFailed("late", at: now, rules: rules)
        }
      case .send:
        firstSend = firstSend ?? now
        life.tried(
          reached: 1, left: Int.random(in: 0...3, using: &random), retryAfter: nil, reason: nil,
          at: now, rules: rules)
      case .close: life.closed(reached: 1, at: now)
      case .rest: break
      }
      #expect(NotificationLife(stored: life.written()) == life)
    }
    #expect(life.phase.isOver)
    if let firstSend {
      #expect(firstSend >= after(sendIn))
      #expect(firstSend <= after(sendIn + 900 + 60))
      if let expiresIn { #expect(firstSend < after(expiresIn)) }
      #expect(life.phase == .sent)
      #expect(life.content != nil || life.usesFallback || !hasSource)
    } else {
      #expect(life.phase == .expired)
    }
  }
}

@Suite struct `A notification's ID` {
  @Test func `is read as it was written`() throws {
    let home = try TripID("0c9d3a52-6a0e-4d4b-9f3e-0a5b6c7d8e9f")
    let id = NotificationID(home: home, name: "0123abcd")
    #expect(NotificationID(id.text) == id)
  }

  @Test(arguments: [
    "", "x", "0c9d3a52-6a0e-4d4b-9f3e-0a5b6c7d8e9f", "0c9d3a52-6a0e-4d4b-9f3e-0a5b6c7d8e9f.",
    "0c9d3a52-6a0e-4d4b-9f3e-0a5b6c7d8e9f.A", "0c9d3a52-6a0e-4d4b-9f3e-0a5b6c7d8e9f.a:b",
    "0c9d3a52-6a0e-4d4b-9f3e-0a5b6c7d8e9f.a.b",
    "0c9d3a52-6a0e-4d4b-9f3e-0a5b6c7d8e9f.01234567890123456",
  ])
  func `has one form`(text: String) { #expect(NotificationID(text) == nil) }
}
