internal import Redis

extension TripStore {
  /// Checks that what Redis holds is this program's, and says so in an empty database.
  ///
  /// To be called before anything else.
  ///
  /// - Throws: ``StoreError/wrongVersion(found:supported:)`` for data of another version;
  ///   ``StoreError/invalidSetting(_:)`` when its trips were spread over another number of
  ///   partitions, or Redis itself is too old.
  package func open() async throws(StoreError) {
    let reply: RESPValue
    do throws(RedisError) {
      reply = try await redis.call(
        RedisCommand(
          Self.openScript, keys: [Self.versionKey],
          arguments: Self.dataVersion, partitionCount),
        deadline: nil)
    } catch {
      throw Self.isTooOld(error)
        ? .invalidSetting(
          "Redis does not understand this program's scripts: version 7.0 or newer is needed.")
        : StoreError(error)
    }
    let found = try reading { () throws(RedisError) in try reply.stringsValue() }
    guard found.count == 2 else {
      throw .unexpectedReply("The key \(Self.versionKey) holds no version in Redis.")
    }
    guard found[0] == String(Self.dataVersion) else {
      throw .wrongVersion(found: found[0], supported: Self.dataVersion)
    }
    guard found[1] == String(partitionCount) else {
      throw .invalidSetting(
        "The trips in Redis are spread over \(found[1]) partitions, and this node is set up for "
          + "\(partitionCount). Set \(found[1]), or use an empty database.")
    }
  }

  static let versionKey = "fc:version"

  /// Versions before 7.0 take the first line of a script for a mistake.
  private static func isTooOld(_ error: RedisError) -> Bool {
    guard let refusal = error.refusal, refusal.kind == .other else { return false }
    return refusal.text.utf8.starts(with: "ERR Error compiling script".utf8)
  }

  static let openScript = RedisScript(
    name: "open",
    source: #"""
      #!lua
      -- Reads the version of the data, and writes it where there is none.
      -- KEYS 1 version
      -- ARGV 1 version of this program, 2 number of partitions
      -- Answers {version, number of partitions}
      redis.call('HSETNX', KEYS[1], 'version', ARGV[1])
      redis.call('HSETNX', KEYS[1], 'partitions', ARGV[2])
      return redis.call('HMGET', KEYS[1], 'version', 'partitions')
      """#,
    isSafeToRepeat: true)
}
