internal import Clocks
internal import Transport

/// Commands that travel together.
extension RedisClient {
  /// Sends the commands of a batch in one go; see ``RedisBatch`` for what that promises.
  ///
  /// Commands that are sent again, because a connection was lost or a script forgotten, run behind
  /// those of the batch that were answered.
  package nonisolated(nonsending) func callAll(
    _ batch: RedisBatch, deadline: Duration? = nil
  ) async -> [RedisReply] {
    let end = now + (deadline ?? configuration.commandDeadline)
    guard let connection = present(), batch.unknownScripts.isEmpty else {
      return await callAllSlowly(batch, before: end)
    }
    let replies = await connection.callAll(batch, before: end)
    if replies.allSatisfy(\.isSuccess) { return replies }
    return await complete(batch, replies, on: connection, before: end)
  }

  private func callAllSlowly(_ batch: RedisBatch, before end: Moment) async -> [RedisReply] {
    do {
      for script in batch.unknownScripts { try await load(script, before: end) }
      let connection = try await connection(before: end)
      let replies = await connection.callAll(batch, before: end)
      return await complete(batch, replies, on: connection, before: end)
    } catch {
      return Array(repeating: .failure(error), count: batch.count)
    }
  }

  /// Sends again what may have another try, until nothing is left of that or the time is over.
  private func complete(
    _ batch: RedisBatch, _ replies: [RedisReply], on connection: RedisConnection,
    before end: Moment
  ) async -> [RedisReply] {
    var replies = replies
    var connection = connection
    while true {
      for case .failure(let error) in replies { noticeAstray(error, connection) }
      let indices = replies.indices.filter { mayRepeat(replies[$0], batch[$0]) }
      guard let first = indices.first, case .failure(let error) = replies[first] else {
        return replies
      }
      if error.refusal?.kind != .noScript, !(await pause(after: error, end)) { return replies }
      guard loop.now < end, let next = try? await self.connection(before: end) else {
        return replies
      }
      connection = next
      // In full, since a server that has forgotten one script has forgotten all.
      let again = await connection.callAll(batch.selection(indices, inFull: true), before: end)
      for (index, reply) in zip(indices, again) { replies[index] = reply }
    }
  }

  private func mayRepeat(_ reply: RedisReply, _ entry: RedisBatch.Entry) -> Bool {
    guard case .failure(let error) = reply else { return false }
    return entry.script != nil && error.refusal?.kind == .noScript
      || mayRepeat(error, isRepeatable: entry.isRepeatable)
  }
}

extension RedisReply {
  fileprivate var isSuccess: Bool { if case .success = self { true } else { false } }
}
