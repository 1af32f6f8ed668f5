package import Clocks
package import FieldTrips
internal import Redis

package enum NotificationCreation: Sendable, Equatable {
  /// It is stored, by this call or by an earlier one.
  case created
  /// So many of this trip or member are not over yet.
  case tooMany(Int)
}

extension TripStore {
  /// Stores a notification and when it is due. Its partition's owner hears of it by the log.
  ///
  /// - Parameter limit: how many of one home may be not over.
  package func createNotification(
    _ id: NotificationID, request: [UInt8], life: NotificationLife, limit: Int, at now: UnixTime
  ) async throws(StoreError) -> NotificationCreation {
    let keys = keys(of: id.home)
    let due = life.due ?? now
    let reply = try await call(
      RedisCommand(
        Self.createNotificationScript,
        keys: [keys.notification(id), keys.openNotifications(id.home), keys.due, keys.log],
        arguments: id.name, request, life.written(), due.milliseconds,
        DueItem.push(id.home, id: id.name).text, limit, id.home.utf8, now.milliseconds,
        life.kept(from: now)))
    return try reading { () throws(RedisError) in
      let (code, rest) = try reply.codedAnswer()
      return code == 1 ? .created : .tooMany(Int(clamping: try rest.value(0).integerValue()))
    }
  }

  static let createNotificationScript = RedisScript(
    name: "createNotification",
    source: #"""
      #!lua
      -- Stores a notification, unless there is one of this ID.
      -- KEYS 1 the notification, 2 its home's open ones, 3 due, 4 log
      -- ARGV 1 its name, 2 request, 3 life, 4 when it is due (ms), 5 due item, 6 most open ones,
      --      7 home, 8 time (ms), 9 how long it is kept (ms)
      -- Answers {1}, or {0, open ones}: too many
      if redis.call('EXISTS', KEYS[1]) == 1 then return { 1 } end
      local open = redis.call('SCARD', KEYS[2])
      if open >= tonumber(ARGV[6]) then return { 0, open } end
      redis.call('HSET', KEYS[1], 'request', ARGV[2], 'life', ARGV[3])
      redis.call('PEXPIRE', KEYS[1], ARGV[9])
      redis.call('SADD', KEYS[2], ARGV[1])
      if redis.call('PTTL', KEYS[2]) < tonumber(ARGV[9]) then
        redis.call('PEXPIRE', KEYS[2], ARGV[9])
      end
      redis.call('ZADD', KEYS[3], ARGV[4], ARGV[5])
      redis.call('XADD', KEYS[4], '*', 't', ARGV[7], 'k', 'push', 'i', ARGV[4], 'a', ARGV[8])
      return { 1 }
      """#,
    isSafeToRepeat: true)
}

extension NotificationLife {
  /// What became of it can be asked for a week after it is over, or after its time.
  func kept(from now: UnixTime) -> Int64 {
    let span = max(sendAt, now) - now + .seconds(7 * 86_400)
    return span.wholeNanoseconds / 1_000_000
  }
}
