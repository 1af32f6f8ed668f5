internal import Foundation

extension FieldcastClient {
  /// Registers, or names again, a device's token or its widgets'. Do so at every launch.
  @discardableResult
  public func register(
    _ device: DeviceRegistration
  ) async throws(FieldcastError) -> TokenReply {
    let call = Call(method: "POST", path: ["devices"], body: try Self.body(device))
    return try await self.call(call, reading: TokenReply.self)
  }

  /// Registers the token of a card, or one by which cards can be started.
  @discardableResult
  public func register(
    _ token: ActivityTokenRegistration
  ) async throws(FieldcastError) -> TokenReply {
    let call = Call(method: "POST", path: ["activity-tokens"], body: try Self.body(token))
    return try await self.call(call, reading: TokenReply.self)
  }

  /// Says that a card is over on this phone.
  ///
  /// - Parameters:
  ///   - wasDismissed: the person swiped it away: none is started for them on this trip again.
  ///   - trip: with `member`, whose card it is: one on a channel has no token, so the service does
  ///     not know it by its ID.
  public func cardEnded(
    _ activityID: String, wasDismissed: Bool, member: String, trip: String
  ) async throws(FieldcastError) {
    try await perform(
      Call(
        method: "DELETE", path: ["activity-tokens", activityID],
        query: [
          ("reason", wasDismissed ? "dismissed" : "ended"), ("trip", trip), ("member", member),
        ]))
  }
}
