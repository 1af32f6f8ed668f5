internal import APNs
internal import Clocks
internal import FieldTrips
internal import JSON
internal import TripStore

/// A start for devices that are alike.
struct StartOrder: Sendable {
  var trip: TripID
  var way: RemoteStart
  var state: ReservedState
  /// JSON, byte for byte.
  var attributes: [UInt8]
  var sentAt: UnixTime
}

extension AppGateway {
  /// Sends one start to many devices by their start tokens.
  ///
  /// - Returns: an answer for each token, in their order.
  func start(
    _ order: StartOrder, of type: ActivityType, to tokens: [PushToken]
  ) async -> [TokenPushAnswer] {
    do {
      let payload = try Self.payload(order, of: type).encoded()
      // A phone that was away gets one start of a trip, the newest, and none once that is over.
      let end = min(order.sentAt + LiveActivityLimits.activeLife, order.state.life.times.endsAt)
      let options = try PushOptions(
        .liveActivity, priority: .immediate, expiration: .until(end), collapseID: order.trip.text)
      return await send(payload, options, to: tokens)
    } catch {
      return tokens.map { _ in .defect("\(error)") }
    }
  }

  private static func payload(
    _ order: StartOrder, of type: ActivityType
  ) throws -> LiveActivityPayload {
    let attributes = type.attributes(
      try JSONText(stored: order.attributes), startingAt: order.sentAt)
    let state = try JSONText(stored: order.state.contentState)
    let alert = type.startAlert(
      attributes: attributes, state: try ContentState(stored: order.state.contentState))
    let input: LiveActivityPayload.Input? =
      switch order.way {
      case .plain: nil
      case .withToken: .token
      case .onChannel(let channel): APNs.ChannelID(channel.text).map { .channel($0) }
      }
    return LiveActivityPayload(
      .start(
        LiveActivityPayload.Start(
          attributesType: type.attributesType, attributes: attributes,
          alert: LiveActivityAlert(
            title: .plain(alert.title), body: .plain(alert.body), sound: alert.sound),
          input: input, staleDate: order.state.life.times.staleDate(sentAt: order.sentAt))),
      timestampSeconds: order.state.timestampSeconds,
      contentState: type.definition.envelope.wrap(state))
  }
}
