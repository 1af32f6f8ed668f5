package import Clocks

/// The life of one connection, for whoever asks afterwards.
package struct ConnectionRecord: Sendable, Equatable {
  package let number: Int
  package let port: SimulatedPort
  package let openedAt: UnixTime
  package internal(set) var closedAt: UnixTime?
  package internal(set) var closeReason: String?
  package internal(set) var requests = 0
  /// Each limit on streams that was announced, the first one included.
  package internal(set) var settings: [StreamLimit]
  /// Reasons of the GOAWAY frames that were sent.
  package internal(set) var goAways: [Reason] = []

  package struct StreamLimit: Sendable, Equatable {
    package var at: UnixTime
    package var maxConcurrentStreams: Int
  }
}
