package import Clocks
package import FieldTrips
internal import Redis

/// What a trip was made with and never changes.
package struct TripDefinition: Sendable, Equatable {
  package var app: AppID
  /// The activity type's name.
  package var typeName: String
  package var name: String
  package var notebook: String?
  /// JSON that the card is started with, byte for byte.
  package var attributes: [UInt8]
  package var storagePolicy: StoragePolicy
  /// What else the server wants to keep with the trip; the store does not look into it.
  package var settings: [UInt8]

  package init(
    app: AppID, typeName: String, name: String, notebook: String?, attributes: [UInt8],
    storagePolicy: StoragePolicy, settings: [UInt8] = []
  ) {
    self.app = app
    self.typeName = typeName
    self.name = name
    self.notebook = notebook
    self.attributes = attributes
    self.storagePolicy = storagePolicy
    self.settings = settings
  }
}

/// A trip as the store holds it.
package struct TripRecord: Sendable, Equatable {
  package var id: TripID
  package var definition: TripDefinition
  /// JSON of the content-state, byte for byte.
  package var contentState: [UInt8]
  /// What the mapper remembers beside the content-state.
  package var mapperMemory: [UInt8]
  package var revision: Revision
  /// The last revision that APNs accepted at priority 10; ``Revision/initial`` before the first.
  package var publishedRevision: Revision
  /// The newest timestamp that was reserved for APNs; 0 before the first.
  package var lastTimestampSeconds: Int64
  /// The publishing budget as its token bucket's anchor; nil until a broadcast was reserved.
  package var anchor: UnixTime?
  /// The adapted rate in broadcasts per hour; nil until it was adapted.
  package var ratePerHour: Double?
  package var life: TripLife
  /// The end was taken in, though the owner may not have come to it yet.
  package var isClosing: Bool
  package var memberCounts: [Reach: Int]
  /// What an owner that stopped left for the timeline; empty if nothing waited then.
  package var waiting: [UInt8]
  /// When the content-state last changed, by the service's clock; nil before the first change.
  package var changedAt: UnixTime?
  /// What phones show for sure; nil before APNs has accepted a broadcast.
  package var shown: ShownCard?
  /// What was sent behind it at priority 5, which phones may show late or leave out.
  package var quiet: ShownCard?

  /// What a publisher goes on from.
  package var publisherState: ChannelPublisher.Durable {
    ChannelPublisher.Durable(
      revision: revision, publishedRevision: publishedRevision,
      lastTimestampSeconds: lastTimestampSeconds, anchor: anchor, ratePerHour: ratePerHour)
  }
}

extension TripRecord {
  /// Reads `HGETALL` of a trip; nil when there is no such trip.
  static func read(_ id: TripID, _ reply: RESPValue) throws(RedisError) -> TripRecord? {
    let fields = TripFields(id, try reply.fieldMap())
    guard !fields.isEmpty else { return nil }
    let lifeText = try fields.text("life")
    let place = try fields.text("app").split(separator: ":")
    guard place.count == 2, let environment = AppID.Environment(rawValue: String(place[1])),
      let app = try? AppID(bundleID: String(place[0]), environment: environment),
      let storage = StoragePolicy(rawValue: Int(try fields.number("storage"))),
      let life = TripLife(text: lifeText)
    else { throw fields.unexpected("app, storage or life") }
    let anchor = try fields.optionalNumber("anchor")
    return TripRecord(
      id: id,
      definition: TripDefinition(
        app: app, typeName: try fields.text("type"), name: try fields.text("name"),
        notebook: try fields.optionalText("notebook"), attributes: fields.bytes("attributes"),
        storagePolicy: storage, settings: fields.bytes("settings")),
      contentState: fields.bytes("state"), mapperMemory: fields.bytes("memory"),
      revision: try fields.revision("rev"), publishedRevision: try fields.revision("pub"),
      lastTimestampSeconds: try fields.number("ts"),
      anchor: anchor.map { UnixTime(nanoseconds: $0) },
      ratePerHour: try fields.optionalText("rate").flatMap { Double($0) }, life: life,
      isClosing: !fields.bytes("closing").isEmpty || !life.acceptsTriggers,
      memberCounts: try fields.memberCounts(), waiting: fields.bytes("waiting"),
      changedAt: try fields.optionalNumber("changed").map { UnixTime(milliseconds: $0) },
      shown: ShownCard(stored: fields.bytes("shown")),
      quiet: ShownCard(stored: fields.bytes("quiet")))
  }
}

/// A trip's hash while it is read.
struct TripFields {
  private let trip: TripID
  private let map: [String: [UInt8]]

  init(_ trip: TripID, _ map: [String: [UInt8]]) {
    self.trip = trip
    self.map = map
  }

  /// Whether there is no trip. A hash without a version is none either: something may have
  /// written a field after the trip was forgotten.
  var isEmpty: Bool { map["v"] == nil }

  func bytes(_ name: String) -> [UInt8] { map[name] ?? [] }

  func optionalText(_ name: String) throws(RedisError) -> String? {
    guard let bytes = map[name] else { return nil }
    guard let text = String(validating: bytes, as: UTF8.self) else { throw unexpected(name) }
    return text
  }

  func text(_ name: String) throws(RedisError) -> String {
    guard let text = try optionalText(name) else { throw unexpected(name) }
    return text
  }

  func optionalNumber(_ name: String) throws(RedisError) -> Int64? {
    guard let bytes = map[name] else { return nil }
    guard let number = RESPValue.integer(in: bytes) else { throw unexpected(name) }
    return number
  }

  func number(_ name: String) throws(RedisError) -> Int64 {
    guard let number = try optionalNumber(name) else { throw unexpected(name) }
    return number
  }

  func revision(_ name: String) throws(RedisError) -> Revision {
    let number = try number(name)
    guard number >= 0 else { throw unexpected(name) }
    return Revision(number)
  }

  func memberCounts() throws(RedisError) -> [Reach: Int] {
    var counts: [Reach: Int] = [:]
    for reach in Reach.allCases {
      guard let count = try optionalNumber("n:" + reach.code), count != 0 else { continue }
      counts[reach] = Int(count)
    }
    return counts
  }

  func unexpected(_ name: String) -> RedisError {
    .unexpectedReply("The trip \(trip) has no valid \(name) in Redis.")
  }
}
