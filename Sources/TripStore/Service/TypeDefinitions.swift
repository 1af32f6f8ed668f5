internal import Redis

extension TripStore {
  /// The definitions of activity types that services used last, as JSON by name.
  package func typeDefinitions() async throws(StoreError) -> [String: [UInt8]] {
    let reply = try await call(RedisCommand("HGETALL", Self.typesKey).repeatable())
    return try reading { () throws(RedisError) in
      Dictionary(try reply.fieldsValue()) { _, last in last }
    }
  }

  /// Remembers definitions for whoever starts next; other types' stay.
  package func remember(typeDefinitions: [String: [UInt8]]) async throws(StoreError) {
    for (name, definition) in typeDefinitions {
      _ = try await call(
        RedisCommand("HSET", Self.typesKey, name, definition).repeatable())
    }
  }

  static let typesKey = "fc:types"
}
