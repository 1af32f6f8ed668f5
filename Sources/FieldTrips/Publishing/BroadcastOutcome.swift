/// What became of one broadcast, sorted by what the publisher does about it.
package enum BroadcastOutcome: Sendable, Equatable {
  /// 200.
  case accepted
  /// 429 `TooManyRequests`: this channel, or the app, is over APNs' limit. Certainly not published.
  case throttled(retryAfter: Duration? = nil)
  /// 429 `TooManyProviderTokenUpdates`: not this channel's fault. Certainly not published.
  case providerTokenThrottled(retryAfter: Duration? = nil)
  /// Certainly not published and nobody's fault: a refused stream, a connection lost before the
  /// request was written, a GOAWAY below its stream.
  case notSent(retryAfter: Duration? = nil)
  /// 503 and the like: APNs is overloaded or down for the moment. Certainly not published.
  case unavailable(retryAfter: Duration? = nil)
  /// Another request of the channel, under way or accepted, carries the same state already.
  case superfluous
  /// The reservation failed, so that nothing left us: the store is not there. APNs has no part in
  /// it, and is no reason to wait for long.
  case notReserved
  /// 500: no one knows whether it was published.
  case serverError(retryAfter: Duration? = nil)
  /// No one knows: no answer in time, connection lost after the request was written.
  case unknown
  /// 400 `ChannelNotRegistered` or `BadChannelId`.
  case channelGone
  /// Any other 4xx: a defect of ours, which trying again does not cure.
  case refused

  /// Whether APNs itself is in trouble or wants less: where several channels hear so, their app
  /// slows down.
  package var slowsApp: Bool {
    switch self {
    case .throttled, .unavailable, .serverError: true
    case .accepted, .providerTokenThrottled, .notSent, .superfluous, .notReserved, .unknown,
      .channelGone, .refused:
      false
    }
  }

  /// Whether the phones certainly did not get it, so that its token is not spent.
  var isRefunded: Bool {
    switch self {
    case .providerTokenThrottled, .notSent, .unavailable, .superfluous, .notReserved, .channelGone,
      .refused:
      true
    case .accepted, .throttled, .serverError, .unknown: false
    }
  }

  var retryAfter: Duration? {
    switch self {
    case .throttled(let span), .providerTokenThrottled(let span), .notSent(let span),
      .unavailable(let span), .serverError(let span):
      span
    case .accepted, .superfluous, .notReserved, .unknown, .channelGone, .refused: nil
    }
  }
}
