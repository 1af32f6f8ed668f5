package import Clocks
import JSON

/// What a channel is for. One of these holds for every channel that is ours, so that none leaks.
package enum ChannelUse: Hashable, Sendable {
  /// Made ahead, so that creating a trip needs no answer from APNs.
  case warm
  /// A trip's; never another's afterwards, since phones of the old group may still listen.
  case trip(TripID)
  /// To be deleted at APNs at this time.
  case deletion(at: UnixTime)
}

/// A channel that APNs has and we made.
package struct ChannelRecord: Hashable, Sendable {
  package let id: ChannelID
  package let storage: StoragePolicy
  package let createdAt: UnixTime
  package internal(set) var use: ChannelUse

  package init(id: ChannelID, storage: StoragePolicy, createdAt: UnixTime, use: ChannelUse) {
    self.id = id
    self.storage = storage
    self.createdAt = createdAt
    self.use = use
  }

  /// Reads what ``written()`` wrote.
  package init(id: ChannelID, stored bytes: [UInt8]) throws(Refusal) {
    let value = try StoredValue(bytes, "channel record")
    let use: ChannelUse
    if let at = value["deleteAt"]?.int64 {
      use = .deletion(at: UnixTime(milliseconds: at))
    } else if let trip = value["trip"] {
      use = .trip(try value.trip(trip))
    } else {
      use = .warm
    }
    self.init(
      id: id, storage: try value.storage(), createdAt: try value.date("createdAt"), use: use)
  }

  /// Compact JSON, without the ID, which is the key that it is kept under.
  package func written() -> [UInt8] {
    var writer = JSONWriter(reservingCapacity: 96)
    writer.object {
      $0.member("storage", storage.rawValue)
      $0.member("createdAt", createdAt.milliseconds)
      switch use {
      case .warm: break
      case .trip(let trip): $0.member("trip", trip.text)
      case .deletion(let at): $0.member("deleteAt", at.milliseconds)
      }
    }
    return writer.finish()
  }
}

/// A creation that we are about to ask APNs for; recorded before, and removed by the answer. One
/// that stays tells that a crash or a lost answer may have left a channel that nobody knows.
package struct ChannelIntent: Hashable, Sendable {
  /// `apns-request-id`: a UUID in lower case.
  package let requestID: String
  package let storage: StoragePolicy
  /// Nil for the warm pool.
  package let trip: TripID?
  package let askedAt: UnixTime

  package init(requestID: String, storage: StoragePolicy, trip: TripID?, askedAt: UnixTime) {
    self.requestID = requestID
    self.storage = storage
    self.trip = trip
    self.askedAt = askedAt
  }

  /// Reads what ``written()`` wrote.
  package init(requestID: String, stored bytes: [UInt8]) throws(Refusal) {
    let value = try StoredValue(bytes, "channel intent")
    var trip: TripID?
    if let text = value["trip"] { trip = try value.trip(text) }
    self.init(
      requestID: requestID, storage: try value.storage(), trip: trip,
      askedAt: try value.date("askedAt"))
  }

  /// Compact JSON, without the request ID.
  package func written() -> [UInt8] {
    var writer = JSONWriter(reservingCapacity: 96)
    writer.object {
      $0.member("storage", storage.rawValue)
      $0.member("askedAt", askedAt.milliseconds)
      if let trip { $0.member("trip", trip.text) }
    }
    return writer.finish()
  }
}

/// One of our own values as the store kept it.
private struct StoredValue {
  private let value: JSONValue
  private let noun: String

  init(_ bytes: [UInt8], _ noun: String) throws(Refusal) {
    do throws(JSONError) { value = try JSONValue.parse(bytes) } catch { throw Refusal(error) }
    self.noun = noun
  }

  subscript(key: String) -> JSONValue? { value[key] }

  func date(_ key: String) throws(Refusal) -> UnixTime {
    guard let milliseconds = value[key]?.int64 else { throw broken(key) }
    return UnixTime(milliseconds: milliseconds)
  }

  func storage() throws(Refusal) -> StoragePolicy {
    guard let number = value["storage"]?.int64, let policy = StoragePolicy(rawValue: Int(number))
    else { throw broken("storage") }
    return policy
  }

  func trip(_ text: JSONValue) throws(Refusal) -> TripID {
    guard let text = text.string, let trip = try? TripID(text) else { throw broken("trip") }
    return trip
  }

  private func broken(_ key: String) -> Refusal {
    Refusal(Problem(.badValue, at: "/" + key, "The stored \(noun) has no proper \"\(key)\"."))
  }
}
