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
    struct Sample: Sendable {
      let note: Logged
      /// When its commit was seen, if it was.
      var committedAt: Int64?
    }

    /// Those before `first` are done with.
    private var samples: [Sample] = []
    private var first = 0
    private var dropped = 0
    /// Cards that count notes which the log has not shown us yet, oldest first.
    private(set) var early: [(notes: Int, at: Int64)] = []

    var count: Int { dropped + samples.count }
    var remembered: Int { samples.count }

    mutating func append(_ note: Logged) -> Int {
      samples.append(Sample(note: note))
      return count - 1
    }

    mutating func commit(_ number: Int, at moment: Int64) {
      let index = number - dropped
      if index >= first { samples[index].committedAt = moment }
    }

    mutating func accept(_ notes: Int, at moment: Int64) { early.append((notes, moment)) }

    /// - Returns: the notes that a card is known to be the first to show, with its moment.
    mutating func takeShown() -> [(sample: Sample, at: Int64)] {
      var shown: [(Sample, Int64)] = []
      while let card = early.first {
        let end = min(card.notes - dropped, samples.count)
        while first < end {
          shown.append((samples[first], card.at))
          first += 1
        }
        guard card.notes <= count else { break }
        early.removeFirst()
      }
      if first > 256, first * 2 > samples.count {
        samples.removeFirst(first)
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
  /// How many captures were seen in the followed logs.
  package private(set) var captures = 0

  package init(spanNanoseconds: Int64) { self.spanNanoseconds = spanNanoseconds }

  /// How many of the captures have all their stamps, and so are in each of the three parts.
  package var complete: Int { publisher.count }

  /// Trips whose cards count notes that were never seen in the log, so that their numbers may be
  /// wrong.
  package var tripsLost: Int { trips.values.count { !$0.early.isEmpty } }

  /// How many notes of a trip are in memory.
  func remembered(_ trip: Int) -> Int { trips[trip]?.remembered ?? 0 }

  /// Partitions of which entries wait to be seen committed.
  package var waitingPartitions: [Int] { Array(uncommitted.keys) }

  /// This trip's partition is followed from the beginning of the load on.
  package mutating func follow(_ trip: Int) { trips[trip] = TripSamples() }

  /// A note was seen in a partition's log, in the log's order.
  package mutating func logged(_ note: Logged, trip: Int, partition: Int) {
    captures += 1
    let number = trips[trip, default: TripSamples()].append(note)
    uncommitted[partition, default: []].append((note, trip, number))
    if trips[trip]?.early.isEmpty == false { countShown(of: trip) }
  }

  /// A partition's cursor was seen at a place.
  package mutating func committed(_ partition: Int, upTo cursor: LogPosition, at moment: Int64) {
    guard let waiting = uncommitted[partition] else { return }
    let done = waiting.prefix { $0.note.position <= cursor }
    uncommitted[partition] = done.count == waiting.count ? nil : Array(waiting[done.count...])
    for entry in done {
      countLag(of: entry.note, committedAt: moment)
      trips[entry.trip]?.commit(entry.number, at: moment)
    }
  }

  /// A trip's card shows so many notes from now on; says nothing of trips that are not followed.
  package mutating func accepted(_ trip: Int, notes: Int, at moment: Int64) {
    guard trips[trip] != nil else { return }
    trips[trip]?.accept(notes, at: moment)
    countShown(of: trip)
  }

  /// Each capture enters all parts at once, so that they are of the same captures and add up to
  /// its way.
  private mutating func countShown(of trip: Int) {
    for (sample, acceptedAt) in trips[trip]?.takeShown() ?? [] {
      let note = sample.note
      // What a card shows was committed before, if we saw it only later.
      let committedAt = min(sample.committedAt ?? acceptedAt, acceptedAt)
      ingest.add(Int((note.loggedAt - note.scheduledAt) / 1_000))
      commit.add(Int((committedAt - note.loggedAt) / 1_000))
      publisher.add(Int((acceptedAt - committedAt) / 1_000))
    }
  }

  private mutating func countLag(of note: Logged, committedAt: Int64) {
    let index = Int(max(0, note.scheduledAt) / spanNanoseconds)
    while lagBySpan.count <= index { lagBySpan.append(LatencyHistogram()) }
    lagBySpan[index].add(Int((committedAt - note.scheduledAt) / 1_000))
  }
}
