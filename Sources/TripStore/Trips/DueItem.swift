package import Clocks
package import FieldTrips
internal import Redis

/// Something that is to happen at a time.
package enum DueItem: Hashable, Sendable {
  /// A step in a trip's life; one of each kind a trip.
  case trip(DueKind, TripID)
  /// A scheduled push, which its ID names within the trip.
  case push(TripID, id: String)

  package var trip: TripID {
    switch self {
    case .trip(_, let trip), .push(let trip, _): trip
    }
  }

  /// `end:<trip>`, `push:<trip>:<id>`.
  var text: String {
    switch self {
    case .trip(let kind, let trip): kind.rawValue + ":" + trip.text
    case .push(let trip, let id): "push:" + trip.text + ":" + id
    }
  }

  init?(text: String) {
    let parts = text.split(separator: ":", maxSplits: 2, omittingEmptySubsequences: false)
    guard parts.count >= 2, let trip = try? TripID(parts[1]) else { return nil }
    if parts.count == 2, let kind = DueKind(rawValue: String(parts[0])) {
      self = .trip(kind, trip)
    } else if parts.count == 3, parts[0] == "push" {
      self = .push(trip, id: String(parts[2]))
    } else {
      return nil
    }
  }
}

/// A change of what is due.
package enum DueChange: Hashable, Sendable {
  /// Replaces an earlier time of the item.
  case schedule(DueItem, at: UnixTime)
  case cancel(DueItem)

  /// The change that a trip's life asks for; nil for actions of another kind.
  package init?(_ action: TripAction, of trip: TripID) {
    switch action {
    case .schedule(let kind, let at): self = .schedule(.trip(kind, trip), at: at)
    case .unschedule(let kind): self = .cancel(.trip(kind, trip))
    default: return nil
    }
  }
}

/// A step in a trip's life, to be stored only if the store still has what it started from.
///
/// Two nodes may change one life: the owner by the log, another by a channel that has come. Whoever
/// comes second is told what is there now, and takes the step again from that.
package struct LifeChange: Hashable, Sendable {
  package var from: TripLife
  package var to: TripLife
  package var due: [DueChange]

  package init(from: TripLife, to: TripLife, due: [DueChange] = []) {
    self.from = from
    self.to = to
    self.due = due
  }

  /// - Parameter actions: what `to` was left with; times among them become due changes.
  package init(of trip: TripID, from: TripLife, to: TripLife, actions: [TripAction]) {
    self.init(from: from, to: to, due: actions.compactMap { DueChange($0, of: trip) })
  }
}

extension RedisCommand {
  /// The last arguments of scripts that change what is due: a time or '', and the item.
  mutating func append(due changes: [DueChange]) {
    for change in changes {
      switch change {
      case .schedule(let item, let at):
        append(at.milliseconds)
        append(item.text)
      case .cancel(let item):
        append("")
        append(item.text)
      }
    }
  }
}

/// Lua that several scripts share.
enum LuaParts {
  /// `change_due(key, from)`: what ``RedisCommand/append(due:)`` wrote.
  static let changeDue = #"""
    local function change_due(key, from)
      for i = from, #ARGV, 2 do
        if ARGV[i] == '' then redis.call('ZREM', key, ARGV[i + 1])
        else redis.call('ZADD', key, ARGV[i], ARGV[i + 1]) end
      end
    end

    """#

  /// `mark(unpublished, trip_key, trip, life)`: a trip is among the unpublished ones while APNs has
  /// yet to accept a revision of it, or its end; and never again after that.
  ///
  /// `mark_known(unpublished, trip, life, revision, published)` is for who has read them already.
  static let mark = #"""
    local function mark_known(unpublished, trip, life, revision, published)
      local phase = string.match(life, '^%a+')
      local is_ahead = tonumber(revision) > tonumber(published)
      if phase == 'ending' or phase ~= 'ended' and is_ahead then
        redis.call('SADD', unpublished, trip)
      else
        redis.call('SREM', unpublished, trip)
      end
    end

    local function mark(unpublished, trip_key, trip, life)
      local numbers = redis.call('HMGET', trip_key, 'rev', 'pub')
      mark_known(unpublished, trip, life, numbers[1], numbers[2])
    end

    """#
}
