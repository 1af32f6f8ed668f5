internal import Clocks

/// Finds, among many channels, the one whose changes have waited the most note-seconds.
///
/// A channel's note-seconds grow with its number of waiting notes, so the order changes by itself
/// as time passes and a plain heap would go stale. This is a *kinetic tournament*: a binary tree
/// in which each inner node holds the winner of its two halves, and the moment at which some match
/// below it would end differently. Looking for the winner replays only those matches.
///
/// Setting or removing a channel costs O(log n); so does, in the mean, an overtaking. Slots are
/// small numbers that the caller hands out.
struct NoteSecondsTournament: Sendable {
  /// Note-seconds at t: `notes` × t − `offset`, with t in seconds on the monotonic clock.
  struct Line: Sendable, Equatable {
    var notes: Double
    var offset: Double

    func value(at seconds: Double) -> Double { notes * seconds - offset }
  }

  private struct Match: Sendable {
    /// The winning slot; nil where there is nobody.
    var winner: Int?
    /// Seconds from which on `winner`, or a match below, may be wrong.
    var expiry = Double.infinity
  }

  private var lines: [Line?] = []
  /// A complete binary tree, its root at 1; the leaves stand for slots. Empty or a power of two.
  private var matches: [Match] = []
  private var leaves = 0

  init() {}

  /// Sets a slot's line, or with nil empties it.
  mutating func set(_ slot: Int, _ line: Line?, at now: Moment) {
    if slot >= leaves { grow(toHold: slot, at: now) }
    lines[slot] = line
    matches[leaves + slot] = Match(winner: line == nil ? nil : slot)
    var node = (leaves + slot) / 2
    while node >= 1 {
      replay(node, at: now.seconds)
      node /= 2
    }
  }

  /// The slot with the largest value at `now`; nil if all are empty. Time must not go back.
  mutating func winner(at now: Moment) -> Int? {
    guard leaves > 0 else { return nil }
    advance(1, to: now.seconds)
    return matches[1].winner
  }

  private mutating func advance(_ node: Int, to seconds: Double) {
    guard node < leaves, matches[node].expiry <= seconds else { return }
    advance(2 * node, to: seconds)
    advance(2 * node + 1, to: seconds)
    replay(node, at: seconds)
  }

  private mutating func replay(_ node: Int, at seconds: Double) {
    let (left, right) = (matches[2 * node], matches[2 * node + 1])
    var match = Match(winner: left.winner ?? right.winner, expiry: min(left.expiry, right.expiry))
    if let one = left.winner, let other = right.winner, let a = lines[one], let b = lines[other] {
      let isLeftAhead = a.value(at: seconds) >= b.value(at: seconds)
      match.winner = isLeftAhead ? one : other
      let (ahead, behind) = isLeftAhead ? (a, b) : (b, a)
      if behind.notes > ahead.notes {
        let meeting = (behind.offset - ahead.offset) / (behind.notes - ahead.notes)
        // Rounding may put the meeting a hair before now, although `ahead` still leads: then look
        // again a little later instead of for ever.
        match.expiry = min(match.expiry, max(meeting, seconds + 1e-6))
      }
    }
    matches[node] = match
  }

  private mutating func grow(toHold slot: Int, at now: Moment) {
    var size = max(leaves, 16)
    while size <= slot { size *= 2 }
    leaves = size
    lines.append(contentsOf: Array(repeating: nil, count: size - lines.count))
    matches = Array(repeating: Match(), count: 2 * size)
    for slot in 0..<size where lines[slot] != nil { matches[size + slot].winner = slot }
    for node in stride(from: size - 1, through: 1, by: -1) { replay(node, at: now.seconds) }
  }
}
