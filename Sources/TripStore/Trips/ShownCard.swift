package import Clocks
package import FieldTrips
internal import Redis

/// A content-state that APNs has accepted, as phones show it.
package struct ShownCard: Sendable, Equatable {
  package var revision: Revision
  /// Of priority 5: a phone may show it late, or leave it out.
  package var isQuiet: Bool
  package var acceptedAt: UnixTime
  /// From then on the card says that it is stale; nil never.
  package var staleAt: UnixTime?
  /// JSON, byte for byte.
  package var contentState: [UInt8]

  package init(
    revision: Revision, isQuiet: Bool, acceptedAt: UnixTime, staleAt: UnixTime?,
    contentState: [UInt8]
  ) {
    self.revision = revision
    self.isQuiet = isQuiet
    self.acceptedAt = acceptedAt
    self.staleAt = staleAt
    self.contentState = contentState
  }

  /// One line of words, and the content-state: `14 10 1716620400000 1716621300000 {"notes":3}`:
  /// revision, priority, accepted and stale at, in milliseconds, `-` for never.
  var stored: [UInt8] {
    let stale = staleAt.map { String($0.milliseconds) } ?? "-"
    let head = "\(revision) \(isQuiet ? 5 : 10) \(acceptedAt.milliseconds) \(stale) "
    return Array(head.utf8) + contentState
  }

  /// Reads ``stored``; nil for anything else.
  init?(stored bytes: [UInt8]) {
    let parts = bytes.split(
      separator: UInt8(ascii: " "), maxSplits: 4, omittingEmptySubsequences: false)
    guard parts.count == 5, let revision = RESPValue.integer(in: Array(parts[0])), revision >= 0,
      let priority = RESPValue.integer(in: Array(parts[1])),
      let acceptedAt = RESPValue.integer(in: Array(parts[2]))
    else { return nil }
    self.init(
      revision: Revision(revision), isQuiet: priority == 5,
      acceptedAt: UnixTime(milliseconds: acceptedAt),
      staleAt: RESPValue.integer(in: Array(parts[3])).map { UnixTime(milliseconds: $0) },
      contentState: Array(parts[4]))
  }
}
