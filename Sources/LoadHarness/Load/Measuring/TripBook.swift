/// What one trip's phones owe its members: captures that have happened and are not shown yet.
///
/// Captures of a trip are numbered as they were scheduled, and a card shows how many it counts: a
/// card that shows 12 shows the first twelve. Doors may overtake each other by a little, which
/// exchanges two neighbours' waits and leaves their sum.
struct TripBook: Sendable {
  private(set) var captured = 0
  private(set) var shown = 0
  /// When those that are not shown happened, oldest first, behind `first`.
  private var waiting: [Int64] = []
  private var first = 0
  /// Captures that some phones have not shown, as the broadcast did not reach them.
  private var owed: [(capturedAt: Int64, phones: Int)] = []
  /// Since when the card has been wrong; nil while it shows everything.
  private(set) var wrongSince: Int64?
  /// Time up to here is counted as wrong already.
  private var countedUntil = Int64.min

  var behind: Int { captured - shown }

  /// When those happened that no card has shown, oldest first.
  var unshown: ArraySlice<Int64> { waiting[first...] }

  /// Phones that wait for captures which others of the trip show, with the captures' times.
  var unreached: [(capturedAt: Int64, phones: Int)] { owed }

  /// A broadcast has lost so many phones, which wait for a later one.
  mutating func owe(_ phones: Int, capturedAt: Int64) {
    if phones > 0 { owed.append((capturedAt, phones)) }
  }

  /// A broadcast reaches a share of the phones, and so that share of those that wait: which they
  /// are, nobody tells.
  ///
  /// - Parameter body: called with each capture, how many phones show it now, and whether they are
  ///   the last.
  mutating func pay(
    reached: Int, of phones: Int,
    _ body: (_ capturedAt: Int64, _ phones: Int, _ isLast: Bool) -> Void
  ) {
    guard !owed.isEmpty, phones > 0 else { return }
    var left: [(capturedAt: Int64, phones: Int)] = []
    for (capturedAt, waiting) in owed {
      let shown = reached == phones ? waiting : (waiting * reached + phones / 2) / phones
      if shown > 0 { body(capturedAt, shown, shown == waiting) }
      if shown < waiting { left.append((capturedAt, waiting - shown)) }
    }
    owed = left
  }

  mutating func capture(at nanoseconds: Int64) {
    captured += 1
    waiting.append(nanoseconds)
    // The broadcast before may still be on its way, and then the card is wrong up to its arrival.
    if wrongSince == nil { wrongSince = max(nanoseconds, countedUntil) }
  }

  /// A broadcast shows `count` notes on the phones from `moment` on.
  ///
  /// - Parameter body: called with the time of each capture that it is the first to show.
  /// - Returns: since when the card was wrong, if it is right now; else nil.
  mutating func show(
    _ count: Int, at moment: Int64, _ body: (_ capturedAt: Int64) -> Void
  ) -> Int64? {
    let fresh = min(count, captured) - shown
    guard fresh > 0 else { return nil }
    for index in first..<(first + fresh) { body(waiting[index]) }
    first += fresh
    shown += fresh
    if first > 64, first * 2 > waiting.count {
      waiting.removeFirst(first)
      first = 0
    }
    // What was captured before that moment keeps it wrong, although we heard of both together.
    let next = first < waiting.count ? waiting[first] : nil
    guard let since = wrongSince, next.map({ $0 >= moment }) ?? true else { return nil }
    wrongSince = next
    countedUntil = moment
    return since
  }
}
