package import Clocks

/// How a replay sees the phones: through APNs' simulator, and never by the service's own word.
package protocol PhoneWorld: Sendable {
  /// Adds phones whose app starts its card on a channel now, with what the join reply said.
  ///
  /// - Parameter contentState: JSON text.
  func addPhones(
    _ count: Int, channelID: String, contentState: String, staleDateSeconds: Int64?
  ) async throws

  /// What is to be seen on a channel now.
  ///
  /// - Parameter since: how many accepted broadcasts of the channel the caller knows already.
  func look(at channelID: String, since: Int) async throws -> ChannelLook

  /// Channels of the app that exist at APNs.
  func channelCount() async throws -> Int
}

/// A channel and its phones at one moment.
package struct ChannelLook: Sendable {
  /// A broadcast that APNs accepted.
  package struct Broadcast: Sendable, Equatable {
    package var at: UnixTime
    package var priority: Int
    package var timestampSeconds: Int64
    package var isEnd: Bool
    /// JSON text; nil when the event carried none.
    package var contentState: String?

    package init(
      at: UnixTime, priority: Int, timestampSeconds: Int64, isEnd: Bool, contentState: String?
    ) {
      self.at = at
      self.priority = priority
      self.timestampSeconds = timestampSeconds
      self.isEnd = isEnd
      self.contentState = contentState
    }
  }

  /// Those that were accepted since the last look, in order.
  package var newBroadcasts: [Broadcast]
  package var throttled: Int
  /// One phone's card.
  package var contentState: String?
  package var isStale = false
  package var isEnded = false
  package var isDismissed = false
  /// Phones by the content-state that they show, as JSON text.
  package var phonesByState: [String: Int]

  package init(newBroadcasts: [Broadcast], throttled: Int, phonesByState: [String: Int]) {
    self.newBroadcasts = newBroadcasts
    self.throttled = throttled
    self.phonesByState = phonesByState
  }
}
