/// One command with its arguments, encoded as it is built.
///
/// ```swift
/// RedisCommand("HSET", key, "state", bytes)
/// RedisCommand("DEL", Spread(keys))
/// RedisCommand(script, keys: [log, cursor], arguments: epoch, position)
/// ```
package struct RedisCommand: Sendable {
  /// The arguments as RESP strings, without the array's head, which is written when it is sent.
  private(set) var body = RESPWriter()
  private(set) var count: Int
  /// Set for a script call: `body` is then what follows the digest.
  private(set) var script: RedisScript?
  private var repeatable: Bool?
  private let name: StaticString

  package init<each Argument: RESPArgument>(
    _ name: StaticString, _ arguments: repeat each Argument
  ) {
    self.name = name
    count = 1
    // One allocation for most commands, instead of one for each time the buffer doubles.
    body.reserve(96)
    body.append(name)
    for argument in repeat each arguments {
      count += argument.argumentCount
      argument.write(to: &body)
    }
  }

  /// A call of `script`. Every key that it touches must be among `keys`, or it cannot run in a
  /// cluster.
  package init<each Argument: RESPArgument>(
    _ script: RedisScript, keys: [String], arguments: repeat each Argument
  ) {
    name = "EVALSHA"
    self.script = script
    count = 3 + keys.count
    body.reserve(160)
    body.append(Int64(keys.count))
    for key in keys { body.append(key) }
    for argument in repeat each arguments {
      count += argument.argumentCount
      argument.write(to: &body)
    }
  }

  /// Adds an argument at the end.
  package mutating func append(_ argument: some RESPArgument) {
    count += argument.argumentCount
    argument.write(to: &body)
  }

  /// Marks a command that may be sent again when its outcome is unknown, since doing it twice is
  /// as good as once. Reads are so without being marked.
  package func repeatable(_ isSafe: Bool = true) -> RedisCommand {
    var copy = self
    copy.repeatable = isSafe
    return copy
  }

  /// Whether the command may be sent again when nobody knows if it took effect.
  package var isRepeatable: Bool {
    if let repeatable { return repeatable }
    if let script { return script.isSafeToRepeat }
    return Self.reads.contains(name.description)
  }

  /// The command's name, for messages.
  package var label: String { script.map { "script \($0.name)" } ?? name.description }

  /// How many bytes it takes on the wire, within a few.
  var encodedBytes: Int { body.count + (script == nil ? 16 : 96) }

  /// - Parameter inFull: sends a script's source instead of its digest.
  func write(to writer: inout RESPWriter, inFull: Bool = false) {
    writer.begin(count: count)
    script?.writeName(to: &writer, inFull: inFull)
    writer.append(encoded: body)
  }

  /// Commands that change nothing. One that is missing here is merely not repeated.
  private static let reads: Set<String> = [
    "EXISTS", "GET", "GETRANGE", "HEXISTS", "HGET", "HGETALL", "HKEYS", "HLEN", "HMGET", "HVALS",
    "INFO", "LLEN", "LRANGE", "MEMORY", "MGET", "PEXPIRETIME", "PING", "PTTL", "ROLE", "SCAN",
    "SCARD", "SISMEMBER", "SMEMBERS", "SMISMEMBER", "SSCAN", "STRLEN", "TIME", "TTL", "TYPE",
    "XINFO", "XLEN", "XPENDING", "XRANGE", "XREAD", "XREVRANGE", "ZCARD", "ZCOUNT", "ZRANGE",
    "ZRANGEBYSCORE", "ZRANK", "ZSCORE", "DBSIZE", "HSCAN", "ZSCAN", "BITCOUNT", "ECHO",
  ]
}
