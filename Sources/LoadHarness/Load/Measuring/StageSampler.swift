/// Splits the way of some captures, by stamps that others made: the log's entry IDs, the log's
/// cursor, and APNs' acceptance.
///
/// It follows a few partitions wholly: there the order of a trip's entries is known, so it is known
/// which broadcast was the first to carry each.
package struct StageSampler: Sendable {
  /// A note in the log.
  package struct Logged: Sendable, Equatable {
    /// When it was scheduled, since the beginning of the load.
    package var scheduledAt: Int64
    /// By its entry's ID: whole milliseconds, by Redis' clock.
    package var loggedAt: Int64
    /// Its place in the log: both halves of the entry's ID.
    package var position: LogPosition
  }

  package struct LogPosition: Sendable, Hashable, Comparable {
    package var milliseconds: UInt64
    package var sequence: UInt64

    package init(milliseconds: UInt64, sequence: UInt64) {
      self.milliseconds = milliseconds
      self.sequence = sequence
    }

    package static func < (left: Self, right: Self) -> Bool {
      (left.milliseconds, left.sequence) < (right.milliseconds, right.sequence)
    }
  }

  /// Notes of one trip that are not known to be in a broadcast, by their number in the log.
  private struct TripSamples: Sendable {
    /// When each was committed, as far as that was seen; those before `first` are done with.
    private var committedAt: [Int64?] = []
    private var first = 0
    private var dropped = 0

    var count: Int { dropped + committedAt.count }
    var remembered: Int { committedAt.count }

    mutating func append() -> Int {
      committedAt.append(nil)
      return count - 1
    }

    mutating func commit(_ number: Int, at moment: Int64) {
      let index = number - dropped
      if index >= first { committedAt[index] = moment }
    }

    /// - Returns: when each of those was committed that a card with `notes` is the first to show.
    ///   What was not seen committed yet counts as committed now.
    mutating func show(_ notes: Int, at moment: Int64) -> [Int64] {
      let end = min(notes - dropped, committedAt.count)
      guard end > first else { return [] }
      let shown = committedAt[first..<end].map { $0 ?? moment }
      first = end
      if first > 256, first * 2 > committedAt.count {
        committedAt.removeFirst(first)
        dropped += first
        first = 0
      }
      return shown
    }
  }

  package private(set) var ingest = LatencyHistogram()
  package private(set) var commit = LatencyHistogram()
  package private(set) var publisher = LatencyHistogram()
  /// From the schedule to the commit by span: the service's lag over time.
  package private(set) var lagBySpan: [LatencyHistogram] = []
  private let spanNanoseconds: Int64
  private var trips: [Int: TripSamples] = [:]
  /// By partition, in the order of its log: which trip, and which of its notes.
  private var uncommitted: [Int: [(note: Logged, trip: Int, number: Int)]] = [:]
  /// Trips of which an entry was not seen in time, so that the later ones cannot be numbered.
  private var broken: Set<Int> = []

  package init(spanNanoseconds: Int64) { self.spanNanoseconds = spanNanoseconds }

  /// How many captures were seen in the log and committed.
  package var count: Int { commit.count }

  /// Trips whose publisher's waits are not known.
  package var tripsLost: Int { broken.count }

  /// How many notes of a trip are in memory.
  func remembered(_ trip: Int) -> Int { trips[trip]?.remembered ?? 0 }

  /// Partitions of which entries wait to be seen committed.
  package var waitingPartitions: [Int] { Array(uncommitted.keys) }

  /// A note was seen in a partition's log, in the log's order.
  package mutating func logged(_ note: Logged, trip: Int, partition: Int) {
    let number = trips[trip, default: TripSamples()].append()
    uncommitted[partition, default: []].append((note, trip, number))
  }

  /// A partition's cursor was seen at a place.
  package mutating func committed(_ partition: Int, upTo cursor: LogPosition, at moment: Int64) {
    guard let waiting = uncommitted[partition] else { return }
    let done = waiting.prefix { $0.note.position <= cursor }
    uncommitted[partition] = done.count == waiting.count ? nil : Array(waiting[done.count...])
    for entry in done {
      count(entry.note, committedAt: moment)
      trips[entry.trip]?.commit(entry.number, at: moment)
    }
  }

  /// A trip's card shows so many notes from now on.
  package mutating func accepted(_ trip: Int, notes: Int, at moment: Int64) {
    guard !broken.contains(trip), let samples = trips[trip] else { return }
    guard notes <= samples.count else {
      broken.insert(trip)
      return
    }
    for committedAt in trips[trip]?.show(notes, at: moment) ?? [] {
      publisher.add(Int((moment - committedAt) / 1_000))
    }
  }

  private mutating func count(_ note: Logged, committedAt: Int64) {
    ingest.add(Int((note.loggedAt - note.scheduledAt) / 1_000))
    commit.add(Int((committedAt - note.loggedAt) / 1_000))
    let index = Int(max(0, note.scheduledAt) / spanNanoseconds)
    while lagBySpan.count <= index { lagBySpan.append(LatencyHistogram()) }
    lagBySpan[index].add(Int((committedAt - note.scheduledAt) / 1_000))
  }
}
