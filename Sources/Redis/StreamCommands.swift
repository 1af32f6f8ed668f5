/// Commands on streams that are easily put together wrongly.
extension RedisCommand {
  /// `XADD` with an ID that the server makes.
  ///
  /// - Parameter about: keeps the stream at about that many entries, dropping the oldest; nil
  ///   keeps all.
  package static func xadd(
    _ key: String, keepingAbout about: Int? = nil, _ fields: [StreamEntry.Field]
  ) -> RedisCommand {
    var command = RedisCommand("XADD", key)
    if let about { command.append(Spread(["MAXLEN", "~", String(about)])) }
    command.append("*")
    for field in fields {
      command.append(field.name)
      command.append(field.value)
    }
    return command
  }

  /// Doing it twice is as good as once.
  package static func xack(_ key: String, group: String, _ ids: [StreamID]) -> RedisCommand {
    RedisCommand("XACK", key, group, Spread(ids)).repeatable()
  }

  /// The entries after each key's ID, at most `count` a stream.
  ///
  /// - Parameter block: how long the server may wait for the first; nil does not wait.
  package static func xread(
    _ cursors: [(key: String, after: StreamID)], count: Int, block: Duration?
  ) -> RedisCommand {
    var command = RedisCommand("XREAD", "COUNT", count)
    command.appendBlock(block)
    command.append("STREAMS")
    for cursor in cursors { command.append(cursor.key) }
    for cursor in cursors { command.append(cursor.after) }
    return command
  }

  /// Entries that nobody in the group was given yet, or, with `after`, those that this consumer was
  /// given and has not acknowledged.
  package static func xreadgroup(
    _ key: String, group: String, consumer: String, after: StreamID?, count: Int,
    block: Duration?
  ) -> RedisCommand {
    var command = RedisCommand("XREADGROUP", "GROUP", group, consumer, "COUNT", count)
    if after == nil { command.appendBlock(block) }
    command.append(Spread(["STREAMS", key]))
    if let after { command.append(after) } else { command.append(">") }
    // Reading again what one was given changes nothing; taking new entries twice would.
    return command.repeatable(after != nil)
  }

  /// Takes over entries that other consumers have held for too long.
  package static func xautoclaim(
    _ key: String, group: String, consumer: String, idleFor idle: Duration, from start: StreamID,
    count: Int
  ) -> RedisCommand {
    RedisCommand(
      "XAUTOCLAIM", key, group, consumer, milliseconds(idle), start, "COUNT", count)
  }

  /// Makes a group that will be given the entries after `position`, and the stream if need be.
  package static func xgroupCreate(
    _ key: String, group: String, after position: StreamID
  ) -> RedisCommand {
    RedisCommand("XGROUP", "CREATE", key, group, position, "MKSTREAM").repeatable()
  }

  private mutating func appendBlock(_ block: Duration?) {
    guard let block else { return }
    append("BLOCK")
    // 0 would mean for ever.
    append(max(1, Self.milliseconds(block)))
  }

  private static func milliseconds(_ span: Duration) -> Int {
    Int(span / .milliseconds(1))
  }
}
