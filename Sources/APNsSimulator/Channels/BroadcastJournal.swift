internal import Clocks

/// The newest accepted broadcasts of all channels in the order of acceptance, for whoever follows
/// them all without asking each channel.
struct BroadcastJournal: Sendable {
  struct Entry: Sendable {
    let bundleID: String
    let channelID: String
    let push: ActivityPush
  }

  /// So many stay readable: a follower that asks twice a second misses none at 20,000 a second.
  private static let limit = 40_000

  private var entries: [Entry] = []
  /// How many were accepted before `entries`.
  private var dropped = 0

  /// All that were ever accepted.
  var count: Int { dropped + entries.count }

  mutating func accept(_ entry: Entry) {
    entries.append(entry)
    guard entries.count > Self.limit else { return }
    dropped += Self.limit / 4
    entries.removeFirst(Self.limit / 4)
  }

  /// At most `limit` of those behind the first `known`, and how many of them are gone already.
  func entries(after known: Int, limit: Int) -> (missed: Int, entries: ArraySlice<Entry>) {
    let start = min(max(known, dropped), count)
    return (max(0, start - known), entries[(start - dropped)...].prefix(limit))
  }
}

/// When the phones of a channel get one broadcast, counted from its acceptance.
package struct ArrivalSpread: Sendable, Equatable {
  /// Phones whose card is on the channel.
  package var phones = 0
  /// Of them, those that it never reaches.
  package var lost = 0
  /// At each share of the phones that it reaches, (i + ½) / n, so each stands for as many phones
  /// as the others; rising. With few phones, all of theirs.
  package var delays: [Duration] = []
  /// The last phone's.
  package var last: Duration?

  /// What stands for all: enough for percentiles, and little to send.
  private static let points = 16

  init() {}

  init(delays: [Duration], lost: Int) {
    phones = delays.count + lost
    self.lost = lost
    let sorted = delays.sorted()
    last = sorted.last
    guard sorted.count > Self.points else {
      self.delays = sorted
      return
    }
    self.delays = (0..<Self.points).map {
      sorted[(2 * $0 + 1) * sorted.count / (2 * Self.points)]
    }
  }
}

extension SimulatedAPNs {
  /// How a broadcast spreads over its channel's phones: the same draws that decide what each of
  /// them shows. Of a push that arrives twice, the first arrival.
  func spread(of entry: BroadcastJournal.Entry) -> ArrivalSpread {
    guard let channel = channel(entry.bundleID, entry.channelID) else { return ArrivalSpread() }
    let push = entry.push
    var delays: [Duration] = []
    var lost = 0
    func add(_ phone: Int) {
      let arrivals = configuration.delivery.arrivals(
        of: push.number, priority: push.priority, at: UInt64(phone), departure: push.acceptedAt,
        seed: configuration.seed)
      if let first = arrivals.first { delays.append(first - push.acceptedAt) } else { lost += 1 }
    }
    for crowd in channel.crowds where crowd.startedAt <= push.acceptedAt {
      for phone in crowd.firstPhone..<(crowd.firstPhone + crowd.count) { add(phone) }
    }
    for reference in channel.subscribers {
      guard let phone = phones[reference.phone], let index = phone.index(of: reference.activityID)
      else { continue }
      let card = phone.activities[index].card
      let isRunning = card.endedAt.map { $0 > push.acceptedAt } ?? true
      if card.startedAt <= push.acceptedAt, isRunning { add(reference.phone) }
    }
    return ArrivalSpread(delays: delays, lost: lost)
  }
}
