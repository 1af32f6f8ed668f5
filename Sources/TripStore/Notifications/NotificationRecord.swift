package import FieldTrips
internal import Redis

/// A notification as the store holds it.
package struct NotificationRecord: Sendable, Equatable {
  package let id: NotificationID
  /// The request, byte for byte.
  package let request: [UInt8]
  package var life: NotificationLife
  package var devices: DeviceCounts

  package init(
    id: NotificationID, request: [UInt8], life: NotificationLife,
    devices: DeviceCounts = DeviceCounts()
  ) {
    self.id = id
    self.request = request
    self.life = life
    self.devices = devices
  }

  /// Reads `HMGET` of ``fields``; nil when there is none of this ID.
  static func read(_ id: NotificationID, _ reply: RESPValue) throws(RedisError)
    -> NotificationRecord?
  {
    let values = try reply.arrayValue()
    guard values.count == fields.count else { throw reply.unexpected("a notification") }
    if values[0].isNull { return nil }
    guard let life = NotificationLife(stored: try values[1].bytesValue()) else {
      throw values[1].unexpected("a notification's life")
    }
    func count(_ index: Int) throws(RedisError) -> Int {
      values[index].isNull ? 0 : Int(clamping: try values[index].integerValue())
    }
    var devices = DeviceCounts()
    devices.accepted = try count(2)
    devices.dead = try count(3)
    devices.refused = try count(4)
    devices.waiting = try count(5)
    devices.unconfirmedOnce = try count(6)
    devices.unconfirmedTwice = try count(7)
    return NotificationRecord(
      id: id, request: try values[0].bytesValue(), life: life, devices: devices)
  }

  /// The counts are named by the letter that a device's mark begins with.
  static let fields = ["request", "life", "n:a", "n:d", "n:r", "n:w", "n:s", "n:S"]
}

extension TripStore {
  /// - Returns: nil when there is none, or it is long over.
  package func notification(
    _ id: NotificationID
  ) async throws(StoreError) -> NotificationRecord? {
    let key = keys(of: id.home).notification(id)
    let reply = try await call(RedisCommand("HMGET", key, Spread(NotificationRecord.fields)))
    return try reading { () throws(RedisError) in try NotificationRecord.read(id, reply) }
  }
}
