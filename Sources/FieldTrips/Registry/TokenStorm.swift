package import Clocks

/// Tells dead phones from a wrong key or environment: when most tokens that were sent to lately are
/// unknown to APNs, the tokens are not what is wrong.
package struct TokenStorm: Sendable {
  private struct Count: Sendable {
    var at: UnixTime
    var unknown: Int
    var others: Int
  }

  /// Fewer unknown tokens than this are no storm.
  package static let least = 10
  /// Counts older than this are forgotten.
  package static let window = Duration.seconds(600)

  private var counts: [Count] = []

  package init() {}

  /// Takes in the answers of a batch, before any of its tokens is judged.
  ///
  /// - Parameter others: answers that show that APNs knows the token, or knew it.
  package mutating func note(unknown: Int, others: Int, at now: UnixTime) {
    counts.removeAll { $0.at < now - Self.window }
    guard unknown + others > 0 else { return }
    counts.append(Count(at: now, unknown: unknown, others: others))
    // Bounded: of very many batches in the window the newest count.
    if counts.count > 120 { counts.removeFirst(60) }
  }

  package var isRaging: Bool {
    let unknown = counts.reduce(0) { $0 + $1.unknown }
    let others = counts.reduce(0) { $0 + $1.others }
    return unknown >= Self.least && unknown >= others
  }
}
