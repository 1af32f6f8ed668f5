internal import Clocks
internal import FieldTrips
internal import JSON
internal import TripStore

/// A trip as `GET /v1/trips/{trip}` shows it.
struct TripDocument {
  let record: TripRecord
  let types: [String: ActivityType]
  /// Sentences that the caller should know.
  var warnings: [String] = []

  func written() -> [UInt8] {
    var writer = JSONWriter(reservingCapacity: 1_024)
    writer.object { write(to: &$0) }
    return writer.finish()
  }

  func write(to writer: inout JSONWriter) {
    let definition = record.definition
    record.writeNames(to: &writer)
    writer.member("bundleID", definition.app.bundleID)
    writer.member("environment", definition.app.environment.rawValue)
    writer.member("phase", record.life.phase.name)
    writeChannel(to: &writer)
    writeCard(to: &writer)
    writer.member("revision", record.revision.number)
    writer.member("publishedRevision", record.publishedRevision.number)
    if record.lastTimestampSeconds > 0 {
      writer.member("lastTimestamp", record.lastTimestampSeconds)
    }
    writer.members(record.memberCounts)
    writeTimes(to: &writer)
    if !warnings.isEmpty {
      writer.key("warnings")
      writer.array { list in for warning in warnings { list.string(warning) } }
    }
  }

  private func writeChannel(to writer: inout JSONWriter) {
    let channel = record.life.channel
    let id: ChannelID? =
      switch channel {
      case .open(let id), .deletionDue(let id, _): id
      case .opening, .gone, .unavailable: nil
      }
    writer.member("reach", channel == .unavailable ? "token" : "channel")
    writer.key("channel")
    writer.object {
      $0.member("status", channel.name)
      if let id { $0.member("id", id.text) }
      $0.member("storage", record.definition.storagePolicy.name)
    }
  }

  private func writeCard(to writer: inout JSONWriter) {
    let type = types[record.definition.typeName]
    if let type { writer.member("attributesType", type.attributesType) }
    record.writeCard(as: type, to: &writer)
  }

  private func writeTimes(to writer: inout JSONWriter) {
    let times = record.life.times
    writer.member("createdAt", DateText.format(times.createdAt))
    writer.member("startsAt", DateText.format(times.startsAt))
    writer.member("endsAt", DateText.format(times.endsAt))
    if let staleAfter = times.staleAfter {
      writer.member("staleAfter", staleAfter.components.seconds)
    }
    writer.key("dismissal")
    writer.value(times.dismissal.json)
  }
}

extension TripRecord {
  /// Writes which trip it is: `trip`, `name`, `notebook` if it has one, and `type`.
  func writeNames(to writer: inout JSONWriter) {
    writer.member("trip", id.text)
    writer.member("name", definition.name)
    if let notebook = definition.notebook { writer.member("notebook", notebook) }
    writer.member("type", definition.typeName)
  }
}

extension JSONWriter {
  /// Writes how many members are reached in each way.
  mutating func members(_ counts: [Reach: Int]) {
    key("members")
    object { for reach in Reach.allCases { $0.member(reach.rawValue, counts[reach] ?? 0) } }
  }
}
