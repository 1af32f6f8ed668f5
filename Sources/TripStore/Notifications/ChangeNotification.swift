package import Clocks
package import FieldTrips
internal import Redis

/// A step of a notification, to be stored only if the store still has what it started from.
package struct NotificationChange: Sendable {
  package var id: NotificationID
  package var from: NotificationLife
  package var to: NotificationLife
  /// By digest of the device's token. Of a mark ``DeviceMark/sending(attempt:)`` the answer says
  /// whether the device may be sent to.
  package var marks: [(device: String, mark: DeviceMark)]
  /// Whether a device may be sent to once more, of which another attempt left no answer.
  package var repeatsUnconfirmed: Bool

  package init(
    _ id: NotificationID, from: NotificationLife, to: NotificationLife,
    marks: [(device: String, mark: DeviceMark)] = [], repeatsUnconfirmed: Bool = false
  ) {
    self.id = id
    self.from = from
    self.to = to
    self.marks = marks
    self.repeatsUnconfirmed = repeatsUnconfirmed
  }
}

package enum NotificationOutcome: Sendable, Equatable {
  /// Stored; for each mark whether it was set.
  case changed(granted: [Bool])
  /// Another step came first, such as a cancellation.
  case conflict(NotificationLife)
  /// Another node owns the partition.
  case fenced(current: Epoch)
  /// It is gone.
  case unknown
}

extension TripStore {
  /// Stores a step, with its marks and its next time, all or nothing. May be made again when its
  /// outcome is unknown: an attempt finds its own marks.
  ///
  /// - Parameter owner: nil for a step that anyone may take, such as a cancellation.
  package func changeNotification(
    _ change: NotificationChange, owner: Ownership?, at now: UnixTime
  ) async throws(StoreError) -> NotificationOutcome {
    let keys = keys(of: change.id.home)
    let to = change.to
    var command = RedisCommand(
      Self.changeNotificationScript,
      keys: [
        keys.notification(change.id), keys.notifiedDevices(change.id),
        keys.openNotifications(change.id.home), keys.due, keys.epoch,
      ],
      arguments: owner.map { "\($0.epoch.number)" } ?? "", change.from.written(), to.written(),
      DueItem.push(change.id.home, id: change.id.name).text,
      to.due.map { "\($0.milliseconds)" } ?? "", to.phase.isOver ? change.id.name : "",
      to.kept(from: now), change.repeatsUnconfirmed ? 1 : 0)
    for (device, mark) in change.marks {
      command.append(device)
      command.append(mark.text)
    }
    let reply = try await call(command)
    return try reading { () throws(RedisError) in
      let (code, rest) = try reply.codedAnswer()
      switch code {
      case 1:
        return .changed(
          granted: try rest.map { (value) throws(RedisError) in
            try value.intValue() == 1
          })
      case 0: return .fenced(current: try Epoch.read(rest.value(0)))
      case -1: return .unknown
      case -2:
        guard let life = NotificationLife(stored: try rest.value(0).bytesValue()) else {
          throw rest.value(0).unexpected("a notification's life")
        }
        return .conflict(life)
      default: throw reply.unexpected("what became of a notification")
      }
    }
  }

  static let changeNotificationScript = RedisScript(
    name: "changeNotification",
    source: #"""
      #!lua flags=allow-oom
      -- Stores a step of a notification, and marks of its devices.
      -- KEYS 1 the notification, 2 its devices, 3 its home's open ones, 4 due, 5 epoch
      -- ARGV 1 epoch of the owner or '', 2 life as it was read, 3 new life, 4 due item, 5 when it is
      --      due next (ms) or '': never, 6 its name if it is over or '', 7 how long it is kept (ms),
      --      8 1 if devices without an answer may be sent to once more; then pairs of device and mark
      -- Answers {1, 1 or 0 for each mark: set}, {0, epoch}: fenced, {-1}: gone, {-2, life}: another
      if ARGV[1] ~= '' then
        local epoch = redis.call('GET', KEYS[5]) or '0'
        if epoch ~= ARGV[1] then return { 0, tonumber(epoch) } end
      end
      local life = redis.call('HGET', KEYS[1], 'life')
      if not life then return { -1 } end
      if life ~= ARGV[2] and life ~= ARGV[3] then return { -2, life } end
      redis.call('HSET', KEYS[1], 'life', ARGV[3])
      if ARGV[5] == '' then redis.call('ZREM', KEYS[4], ARGV[4])
      elseif #ARGV == 8 then redis.call('ZADD', KEYS[4], ARGV[5], ARGV[4]) end
      if ARGV[6] ~= '' then
        redis.call('SREM', KEYS[3], ARGV[6])
        redis.call('PEXPIRE', KEYS[1], ARGV[7])
      end
      local answer = { 1 }
      for i = 9, #ARGV, 2 do
        local device, mark = ARGV[i], ARGV[i + 1]
        local kind = string.sub(mark, 1, 1)
        local known = redis.call('HGET', KEYS[2], device)
        local before = known and string.sub(known, 1, 1)
        local may
        -- A device is sent to by whoever marks it first, or after APNs put it off, or once more by
        -- another attempt: its mark begins with S then. An answer goes to a device that is being
        -- sent to.
        if kind == 's' then
          local again = 'S' .. string.sub(mark, 2)
          if known == again or (before == 's' and known ~= mark and ARGV[8] == '1') then
            kind, mark = 'S', again
          end
          may = not known or known == mark or before == 'w' or (kind == 'S' and before == 's')
        else may = before == 's' or before == 'S' end
        if may and known ~= mark then
          if known then redis.call('HINCRBY', KEYS[1], 'n:' .. before, -1) end
          redis.call('HINCRBY', KEYS[1], 'n:' .. kind, 1)
          redis.call('HSET', KEYS[2], device, mark)
        end
        answer[#answer + 1] = (may or known == mark) and 1 or 0
      end
      if #ARGV > 8 then redis.call('PEXPIRE', KEYS[2], ARGV[7]) end
      return answer
      """#,
    isSafeToRepeat: true)
}
