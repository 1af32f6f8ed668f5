package import Clocks
internal import Redis

/// A message that could not be taken in, kept for people to look at.
package struct DeadLetter: Sendable, Equatable {
  /// A short code for machines, such as `invalid_json`.
  package var reason: String
  /// A sentence for people.
  package var message: String
  /// By which door it came: `rest`, `pubsub`, `stream`.
  package var door: String
  /// The beginning of what came.
  package var excerpt: [UInt8]
  package var at: UnixTime

  /// Bytes of an excerpt that are kept.
  package static let longestExcerpt = 1_024

  package init(reason: String, message: String, door: String, excerpt: [UInt8], at: UnixTime) {
    self.reason = reason
    self.message = message
    self.door = door
    self.excerpt = Array(excerpt.prefix(Self.longestExcerpt))
    self.at = at
  }
}

extension TripStore {
  /// The stream of dead letters; also read by other programs.
  package static let deadLetterKey = "fieldcast:notes:dead"
  /// About how many dead letters are kept, the newest.
  package static let deadLetterLimit = 10_000

  /// Keeps dead letters, also beyond `maxmemory`: a log whose waste has no place would stand still,
  /// and never become shorter. Their number is bounded.
  package func bury(_ letters: [DeadLetter]) async throws(StoreError) {
    var batch = RedisBatch()
    for letter in letters {
      batch.append(
        Self.buryScript, keys: [Self.deadLetterKey],
        arguments: Self.deadLetterLimit, letter.reason, letter.message, letter.door,
        letter.excerpt, letter.at.milliseconds)
    }
    for answer in await callAll(batch, { (_, reply) throws(RedisError) in reply }) {
      _ = try answer.get()
    }
  }

  static let buryScript = RedisScript(
    name: "bury",
    source: #"""
      #!lua flags=allow-oom
      -- Keeps a dead letter.
      -- KEYS 1 dead letters
      -- ARGV 1 about how many are kept, 2 reason, 3 message, 4 door, 5 excerpt, 6 time (ms)
      return redis.call('XADD', KEYS[1], 'MAXLEN', '~', ARGV[1], '*', 'reason', ARGV[2],
        'message', ARGV[3], 'door', ARGV[4], 'excerpt', ARGV[5], 'at', ARGV[6])
      """#,
    isSafeToRepeat: false)

  /// How many dead letters are kept.
  package func deadLetterCount() async throws(StoreError) -> Int {
    let reply = try await call(RedisCommand("XLEN", Self.deadLetterKey))
    return try reading { () throws(RedisError) in try reply.intValue() }
  }

  /// The newest dead letters, newest first.
  package func deadLetters(limit: Int) async throws(StoreError) -> [DeadLetter] {
    let reply = try await call(
      RedisCommand("XREVRANGE", Self.deadLetterKey, "+", "-", "COUNT", limit))
    return try reading { () throws(RedisError) in
      var letters: [DeadLetter] = []
      for entry in try reply.arrayValue() {
        let parts = try entry.arrayValue()
        guard parts.count == 2 else { throw entry.unexpected("a stream's entry") }
        let fields = try parts[1].fieldMap()
        func text(_ name: String) -> String {
          String(decoding: fields[name] ?? [], as: UTF8.self)
        }
        letters.append(
          DeadLetter(
            reason: text("reason"), message: text("message"), door: text("door"),
            excerpt: fields["excerpt"] ?? [],
            at: UnixTime(milliseconds: Int64(text("at")) ?? 0)))
      }
      return letters
    }
  }
}
