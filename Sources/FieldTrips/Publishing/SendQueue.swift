package import Clocks

/// The channels of one app that wait for their turn, while the app's rate allows no more.
///
/// Served are trip ends first, then significant changes, each in the order in which they came;
/// then ordinary changes, those first that have waited the most note-seconds together; then tails.
/// That order has the least mean staleness, and nobody starves: who waits, gains note-seconds.
///
/// A channel stands in the queue once, however many changes arrive. Every call takes O(log n).
package struct SendQueue<Channel: Hashable & Sendable>: Sendable {
  private struct Place: Sendable {
    var rank: SendRank
    /// Tells the newest entry of a channel in a line from older ones that it left behind.
    var ticket: UInt64
    /// In the tournament; nil for ranks that are lines.
    var slot: Int?
  }

  private var places: [Channel: Place] = [:]
  private var lines = [Line](repeating: Line(), count: SendRank.allCases.count)
  private var tournament = NoteSecondsTournament()
  private var slots: [Channel?] = []
  private var freeSlots: [Int] = []
  private var nextTicket: UInt64 = 0

  package init() {}

  package var count: Int { places.count }
  package var isEmpty: Bool { places.isEmpty }

  package func rank(of channel: Channel) -> SendRank? { places[channel]?.rank }

  /// Puts a channel in, or tells that its backlog or its rank changed.
  ///
  /// - Parameter backlog: the channel's, which settles its place among ordinary changes.
  package mutating func enqueue(
    _ channel: Channel, _ rank: SendRank, _ backlog: Backlog, at now: Moment
  ) {
    if let place = places[channel] {
      if place.rank == rank {
        if let slot = place.slot { tournament.set(slot, backlog.line, at: now) }
        return
      }
      remove(channel, at: now)
    }
    nextTicket += 1
    var place = Place(rank: rank, ticket: nextTicket)
    if rank == .ordinary {
      let slot = takeSlot(for: channel)
      tournament.set(slot, backlog.line, at: now)
      place.slot = slot
    } else {
      lines[rank.rawValue].append(channel, nextTicket)
    }
    places[channel] = place
  }

  /// Takes the next channel out; nil if nobody waits.
  package mutating func next(at now: Moment) -> (channel: Channel, rank: SendRank)? {
    for rank in SendRank.allCases {
      guard let channel = first(rank, at: now) else { continue }
      remove(channel, at: now)
      return (channel, rank)
    }
    return nil
  }

  /// Takes a channel out that became clean, or is no longer ours.
  package mutating func remove(_ channel: Channel, at now: Moment) {
    guard let place = places.removeValue(forKey: channel) else { return }
    if let slot = place.slot {
      tournament.set(slot, nil, at: now)
      slots[slot] = nil
      freeSlots.append(slot)
    } else {
      // Its entry stays in the line until it comes to the front, or there are too many such.
      lines[place.rank.rawValue].leave { [places] in places[$0]?.ticket == $1 }
    }
  }

  private mutating func first(_ rank: SendRank, at now: Moment) -> Channel? {
    if rank == .ordinary { return tournament.winner(at: now).flatMap { slots[$0] } }
    return lines[rank.rawValue].first { [places] in places[$0]?.ticket == $1 }
  }

  private mutating func takeSlot(for channel: Channel) -> Int {
    if let slot = freeSlots.popLast() {
      slots[slot] = channel
      return slot
    }
    slots.append(channel)
    return slots.count - 1
  }

  /// First in, first out, with entries that no longer count swept out now and then.
  private struct Line: Sendable {
    private var entries: [(channel: Channel, ticket: UInt64)] = []
    private var head = 0
    private var departed = 0

    mutating func append(_ channel: Channel, _ ticket: UInt64) { entries.append((channel, ticket)) }

    /// The first entry that still counts; those before it are dropped.
    mutating func first(_ counts: (Channel, UInt64) -> Bool) -> Channel? {
      while head < entries.count, !counts(entries[head].channel, entries[head].ticket) { head += 1 }
      guard head < entries.count else {
        self = Line()
        return nil
      }
      return entries[head].channel
    }

    mutating func leave(_ counts: (Channel, UInt64) -> Bool) {
      departed += 1
      guard departed > 32, departed > entries.count / 2 else { return }
      entries = entries[head...].filter { counts($0.channel, $0.ticket) }
      head = 0
      departed = 0
    }
  }
}

extension Backlog {
  fileprivate var line: NoteSecondsTournament.Line {
    NoteSecondsTournament.Line(
      notes: Double(count), offset: -noteSeconds(at: Moment.origin))
  }
}
