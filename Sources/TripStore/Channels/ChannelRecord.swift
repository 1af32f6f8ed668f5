internal import Clocks
package import FieldTrips
internal import Redis

/// A channel as the books hold it.
package struct ChannelRecord: Hashable, Sendable {
  package let channel: KnownChannel
  package let storage: StoragePolicy

  package init(channel: KnownChannel, storage: StoragePolicy) {
    self.channel = channel
    self.storage = storage
  }

  package var id: ChannelID { channel.id }
  package var use: KnownChannel.Use { channel.use }

  /// `trip 0c9d… 1 1716620400000`, `warm - 0 1716620400000`: use, trip, storage policy, time of
  /// creation. Scripts read the first two words, and copy the others.
  var text: String {
    let words =
      switch use {
      case .trip(let trip): "trip " + trip.text
      case .warm: "warm -"
      case .deletion: "deletion -"
      }
    return "\(words) \(storage.rawValue) \(channel.createdAt.milliseconds)"
  }

  init?(_ id: ChannelID, text: String) {
    let words = text.split(separator: " ")
    guard words.count == 4, let number = Int(words[2]),
      let storage = StoragePolicy(rawValue: number), let createdAt = Int64(words[3])
    else { return nil }
    let use: KnownChannel.Use
    switch words[0] {
    case "trip":
      guard let trip = try? TripID(words[1]) else { return nil }
      use = .trip(trip)
    case "warm": use = .warm
    case "deletion": use = .deletion
    default: return nil
    }
    self.init(
      channel: KnownChannel(id, use, createdAt: UnixTime(milliseconds: createdAt)),
      storage: storage)
  }

  static func read(_ id: ChannelID, _ value: RESPValue) throws(RedisError) -> ChannelRecord {
    guard let record = ChannelRecord(id, text: try value.stringValue()) else {
      throw value.unexpected("a channel's record")
    }
    return record
  }
}

extension ChannelIntent {
  /// Trip or '-', storage policy, time: what the books hold under the request.
  var text: String { "\(trip?.text ?? "-") \(storage.rawValue) \(askedAt.milliseconds)" }

  static func read(
    _ requestID: String, _ value: RESPValue
  ) throws(RedisError) -> ChannelIntent {
    let words = try value.stringValue().split(separator: " ")
    guard words.count == 3, let number = Int(words[1]),
      let storage = StoragePolicy(rawValue: number), let askedAt = Int64(words[2])
    else { throw value.unexpected("a channel intent") }
    let trip = try? TripID(words[0])
    guard trip != nil || words[0] == "-" else { throw value.unexpected("a channel intent") }
    return ChannelIntent(
      requestID: requestID, storage: storage, trip: trip,
      askedAt: UnixTime(milliseconds: askedAt))
  }
}

extension ChannelID {
  static func read(_ value: RESPValue) throws(RedisError) -> ChannelID {
    guard let channel = try? ChannelID(try value.stringValue()) else {
      throw value.unexpected("a channel ID")
    }
    return channel
  }
}
