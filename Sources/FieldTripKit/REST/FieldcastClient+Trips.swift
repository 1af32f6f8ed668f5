public import Foundation

extension FieldcastClient {
  /// Creates a trip with its channel.
  ///
  /// - Parameter key: names this creation. The same key again has the same answer for a day; keep it
  ///   with what it creates, if that may be tried again after the app was restarted.
  public func create<Attributes: CardAttributes>(
    _ trip: NewTrip<Attributes>, key: String = UUID().uuidString
  ) async throws(FieldcastError) -> TripReply<Attributes> {
    let call = Call(method: "POST", path: ["trips"], body: try Self.body(trip), idempotencyKey: key)
    return try await self.call(call, reading: TripReply<Attributes>.self)
  }

  /// Reads a trip of the kind that the result names.
  public func trip<Attributes: CardAttributes>(
    _ trip: String, showing _: Attributes.Type = Attributes.self
  ) async throws(FieldcastError) -> TripReply<Attributes> {
    try await call(Call(method: "GET", path: ["trips", trip]), reading: TripReply<Attributes>.self)
  }

  /// Joins a trip, or says again what has changed; the answer has all that the card needs.
  public func join<Attributes: CardAttributes>(
    _ trip: String, as join: Join, showing _: Attributes.Type = Attributes.self
  ) async throws(FieldcastError) -> JoinReply<Attributes> {
    let call = Call(method: "POST", path: ["trips", trip, "members"], body: try Self.body(join))
    return try await self.call(call, reading: JoinReply<Attributes>.self)
  }

  /// Says again what has changed about a member, whatever kind of card the trip has.
  public func renew(_ join: Join, on trip: String) async throws(FieldcastError) {
    try await perform(
      Call(method: "POST", path: ["trips", trip, "members"], body: try Self.body(join)))
  }

  /// Leaves a trip. Who is no member has left.
  public func leave(_ trip: String, member: String) async throws(FieldcastError) {
    try await perform(Call(method: "DELETE", path: ["trips", trip, "members", member]))
  }

  /// Ends a trip for all: final state, end of the cards, then of the channel.
  public func end<Attributes: CardAttributes>(
    _ trip: String, with end: TripEnd<Attributes>
  ) async throws(FieldcastError) {
    try await perform(Call(method: "POST", path: ["trips", trip, "end"], body: try Self.body(end)))
  }

  /// Ends a trip with the state that it has by then.
  public func end(_ trip: String) async throws(FieldcastError) {
    try await perform(Call(method: "POST", path: ["trips", trip, "end"]))
  }
}
