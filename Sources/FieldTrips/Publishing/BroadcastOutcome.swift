/// What became of one broadcast, sorted by what the publisher does about it.
package enum BroadcastOutcome: Sendable, Equatable {
  /// 200.
  case accepted
  /// 429 `TooManyRequests`: this channel, or the app, is over APNs' limit. Certainly not published.
  case throttled(retryAfter: Duration? = nil)
  /// 429 `TooManyProviderTokenUpdates`: not this channel's fault. Certainly not published.
  case providerTokenThrottled(retryAfter: Duration? = nil)
  /// Certainly not published and nobody's fault: 503, a refused stream, a connection lost before
  /// the request was written, a GOAWAY below its stream.
  case notSent(retryAfter: Duration? = nil)
  /// The reservation failed, so that nothing left us: the store is not there. APNs has no part in
  /// it, and is no reason to wait for long.
  case notReserved
  /// No one knows: 500, no answer in time, connection lost after the request was written.
  case unknown
  /// 400 `ChannelNotRegistered` or `BadChannelId`.
  case channelGone
  /// Any other 4xx: a defect of ours, which trying again does not cure.
  case refused

  /// Whether the phones certainly did not get it, so that its token is not spent.
  var isRefunded: Bool {
    switch self {
    case .providerTokenThrottled, .notSent, .notReserved, .channelGone, .refused: true
    case .accepted, .throttled, .unknown: false
    }
  }

  var retryAfter: Duration? {
    switch self {
    case .throttled(let span), .providerTokenThrottled(let span), .notSent(let span): span
    case .accepted, .notReserved, .unknown, .channelGone, .refused: nil
    }
  }
}
