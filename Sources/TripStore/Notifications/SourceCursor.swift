internal import Redis

extension TripStore {
  /// Up to where a named source's items were told; nil at its beginning.
  package func sourceCursor(_ source: String) async throws(StoreError) -> String? {
    let reply = try await call(RedisCommand("GET", Self.sourceKey(source)))
    return try reading { () throws(RedisError) in reply.isNull ? nil : try reply.stringValue() }
  }

  /// Items up to `to` were told. Moves only from where their fetch began: what another notification
  /// told meanwhile is not taken back.
  ///
  /// - Returns: whether the cursor stands at `to` now.
  @discardableResult
  package func moveSourceCursor(
    _ source: String, from: String?, to: String
  ) async throws(StoreError) -> Bool {
    let reply = try await call(
      RedisCommand(
        Self.moveSourceCursorScript, keys: [Self.sourceKey(source)],
        arguments: from ?? "", to, Self.sourceLifeMilliseconds))
    return try reading { () throws(RedisError) in try reply.intValue() == 1 }
  }

  /// - Parameter source: a digest of its name: letters and digits.
  private static func sourceKey(_ source: String) -> String { "fc:source:{\(source)}" }

  /// A source that told nothing for half a year is told from its beginning.
  private static let sourceLifeMilliseconds = 180 * 86_400_000

  static let moveSourceCursorScript = RedisScript(
    name: "moveSourceCursor",
    source: #"""
      #!lua flags=allow-oom
      -- Moves a source's cursor, if it stands where the fetch began.
      -- KEYS 1 the cursor
      -- ARGV 1 where the fetch began or '', 2 where it ended, 3 how long it is kept (ms)
      -- Answers 1 if it stands there now, else 0
      local known = redis.call('GET', KEYS[1]) or ''
      if known ~= ARGV[1] and known ~= ARGV[2] then return 0 end
      redis.call('SET', KEYS[1], ARGV[2], 'PX', ARGV[3])
      return 1
      """#,
    isSafeToRepeat: true)
}
