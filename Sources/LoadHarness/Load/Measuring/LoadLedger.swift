/// Works out, from what was scheduled and what APNs accepted, how fresh the phones were.
///
/// Memory is bounded by what waits to be shown, the number of trips and the number of spans.
package struct LoadLedger: Sendable {
  /// What happened in one span of the load.
  package struct Span: Sendable {
    /// Scheduled in it.
    package var captures = 0
    package var broadcasts10 = 0
    package var broadcasts5 = 0
    /// Phones that its broadcasts reach.
    package var phonesReached = 0
    /// Of the captures scheduled in it: until the first broadcast with it was accepted.
    package var toAPNs = LatencyHistogram()
    /// The same until it was on a phone, for every capture and phone.
    package var toPhones = LatencyHistogram()
  }

  package let spanNanoseconds: Int64
  /// When the last capture may come: cards are looked at until then.
  private let endNanoseconds: Int64
  package private(set) var spans: [Span] = []
  package private(set) var toAPNs = LatencyHistogram()
  package private(set) var toPhones = LatencyHistogram()
  /// Until the last phone of a trip showed it.
  package private(set) var toLastPhone = LatencyHistogram()
  /// From acceptance to each phone.
  package private(set) var travel = LatencyHistogram()
  package private(set) var captures = 0
  package private(set) var capturesShown = 0
  package private(set) var broadcasts: [Int: Int] = [:]
  /// Broadcasts that were the first to show some capture.
  package private(set) var broadcastsWithNews: [Int: Int] = [:]
  /// Captures first shown by a broadcast of that priority.
  package private(set) var capturesByPriority: [Int: Int] = [:]
  package private(set) var phonesReached = 0
  package private(set) var deliveriesLost = 0
  /// Trips' nanoseconds in which a card did not show everything.
  private var wrongNanoseconds = 0.0
  private var behind: LevelIntegral
  private var trips: [TripBook]

  package init(trips: Int, spanNanoseconds: Int64, endNanoseconds: Int64) {
    self.spanNanoseconds = spanNanoseconds
    self.endNanoseconds = endNanoseconds
    behind = LevelIntegral(spanNanoseconds: spanNanoseconds)
    self.trips = Array(repeating: TripBook(), count: trips)
  }

  /// Captures that no broadcast has shown yet.
  package var capturesBehind: Int { captures - capturesShown }

  /// How many notes each trip's card must show, as far as all captures were taken.
  package func captured(_ trip: Int) -> Int { trips[trip].captured }

  /// A capture happens, whether the service takes it or not.
  package mutating func capture(_ trip: Int, at nanoseconds: Int64) {
    captures += 1
    trips[trip].capture(at: nanoseconds)
    change(spanAt: nanoseconds) { $0.captures += 1 }
    behind.step(1, at: nanoseconds)
  }

  /// Broadcasts of one trip come in the order in which they were accepted.
  package mutating func take(_ broadcast: SeenBroadcast) {
    // What comes before the load are the trips' first cards.
    guard broadcast.acceptedAt >= 0 else { return }
    broadcasts[broadcast.priority, default: 0] += 1
    phonesReached += broadcast.reached
    deliveriesLost += broadcast.lost
    change(spanAt: broadcast.acceptedAt) { span in
      if broadcast.priority == 10 { span.broadcasts10 += 1 } else { span.broadcasts5 += 1 }
      span.phonesReached += broadcast.reached
    }
    countTravel(of: broadcast) { $0.travel.add($1, times: $2) }
    guard let notes = broadcast.notes else { return }
    reachLostPhones(by: broadcast)
    show(notes, by: broadcast)
  }

  /// The watch has ended: what no card has shown by now has waited without an end.
  ///
  /// Left out, such captures would flatter the percentiles by just the worst of all waits.
  ///
  /// - Parameter phones: of each trip; each of them waited.
  package mutating func end(phonesPerTrip phones: Int) {
    for trip in trips {
      for capturedAt in trip.unshown {
        toAPNs.addEndless()
        toPhones.addEndless(times: phones)
        if phones > 0 { toLastPhone.addEndless() }
        change(spanAt: capturedAt) {
          $0.toAPNs.addEndless()
          $0.toPhones.addEndless(times: phones)
        }
      }
      for (capturedAt, phones) in trip.unreached {
        toPhones.addEndless(times: phones)
        toLastPhone.addEndless()
        change(spanAt: capturedAt) { $0.toPhones.addEndless(times: phones) }
      }
    }
  }

  /// Phones that an earlier broadcast did not reach show what it carried now, if this one does:
  /// until then they have waited.
  private mutating func reachLostPhones(by broadcast: SeenBroadcast) {
    var paid: [(capturedAt: Int64, phones: Int, isLast: Bool)] = []
    trips[broadcast.trip].pay(reached: broadcast.reached, of: broadcast.phones) {
      paid.append(($0, $1, $2))
    }
    for (capturedAt, phones, isLast) in paid {
      let wait = Int((broadcast.acceptedAt - capturedAt) / 1_000)
      if isLast, let last = broadcast.lastDelay { toLastPhone.add(wait + last) }
      let index = Int(capturedAt / spanNanoseconds)
      countTravel(of: broadcast, phones: phones) { ledger, delay, phones in
        ledger.toPhones.add(wait + delay, times: phones)
        ledger.spans[index].toPhones.add(wait + delay, times: phones)
      }
    }
  }

  private mutating func show(_ notes: Int, by broadcast: SeenBroadcast) {
    // As people see it: when it is on the phone in the middle.
    let onPhones = broadcast.acceptedAt + broadcast.meanDelayNanoseconds
    var news: [Int64] = []
    let wrongSince = trips[broadcast.trip].show(notes, at: onPhones) { news.append($0) }
    guard !news.isEmpty else { return }
    if let wrongSince {
      wrongNanoseconds += max(0, Double(min(onPhones, endNanoseconds) - wrongSince))
    }
    broadcastsWithNews[broadcast.priority, default: 0] += 1
    capturesByPriority[broadcast.priority, default: 0] += news.count
    capturesShown += news.count
    for capturedAt in news {
      behind.step(-1, at: max(onPhones, capturedAt))
      let wait = Int((broadcast.acceptedAt - capturedAt) / 1_000)
      toAPNs.add(wait)
      change(spanAt: capturedAt) { $0.toAPNs.add(wait) }
      trips[broadcast.trip].owe(broadcast.lost, capturedAt: capturedAt)
      if broadcast.lost == 0, let last = broadcast.lastDelay { toLastPhone.add(wait + last) }
      let index = Int(capturedAt / spanNanoseconds)
      countTravel(of: broadcast) { ledger, delay, phones in
        ledger.toPhones.add(wait + delay, times: phones)
        ledger.spans[index].toPhones.add(wait + delay, times: phones)
      }
    }
  }

  /// Calls `body` with each delay and the number of phones that it stands for.
  ///
  /// - Parameter phones: all that the broadcast reached, unless it is said.
  private mutating func countTravel(
    of broadcast: SeenBroadcast, phones reached: Int? = nil,
    _ body: (inout LoadLedger, _ delay: Int, _ phones: Int) -> Void
  ) {
    let points = broadcast.delays.count
    guard points > 0 else { return }
    let reached = reached ?? broadcast.reached
    for (index, delay) in broadcast.delays.enumerated() {
      let phones = reached * (index + 1) / points - reached * index / points
      if phones > 0 { body(&self, delay, phones) }
    }
  }

  // MARK: Staleness

  /// Notes that a trip's card was behind, averaged over trips, for each span.
  package func meanNotesBehind(spans count: Int) -> [Double] {
    behind.means(count: count).map { $0 / Double(trips.count) }
  }

  /// The share of time, until captures end, in which a trip's card did not show everything;
  /// averaged over trips.
  package var shareWrong: Double {
    let open = trips.reduce(0.0) { sum, trip in
      sum + (trip.wrongSince.map { Double(max(0, endNanoseconds - $0)) } ?? 0)
    }
    return (wrongNanoseconds + open) / (Double(endNanoseconds) * Double(trips.count))
  }

  private mutating func change(spanAt nanoseconds: Int64, _ body: (inout Span) -> Void) {
    let index = Int(max(0, nanoseconds) / spanNanoseconds)
    while spans.count <= index { spans.append(Span()) }
    body(&spans[index])
  }
}
