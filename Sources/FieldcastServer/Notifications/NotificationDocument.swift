internal import Clocks
internal import FieldTrips
internal import JSON
internal import TripStore

/// A notification as callers see it. No token is ever in it.
struct NotificationDocument: Sendable {
  private let record: NotificationRecord
  private let request: NotificationRequest

  init(_ record: NotificationRecord, _ request: NotificationRequest) {
    self.record = record
    self.request = request
  }

  func written() -> [UInt8] {
    let life = record.life
    var writer = JSONWriter(reservingCapacity: 512)
    writer.object {
      $0.member("id", record.id.text)
      $0.member("state", life.phase.rawValue)
      $0.member("kind", request.kind.rawValue)
      $0.key("to")
      $0.object { writeRecipient(to: &$0) }
      $0.member("createdAt", DateText.format(life.createdAt))
      $0.member("sendAt", DateText.format(life.sendAt))
      if let time = life.expiresAt { $0.member("expiresAt", DateText.format(time)) }
      if let time = life.sendingSince { $0.member("sendingSince", DateText.format(time)) }
      if let time = life.finishedAt { $0.member("finishedAt", DateText.format(time)) }
      if life.phase == .sending, let due = life.due, life.rounds > 0 {
        $0.member("nextTryAt", DateText.format(due))
      }
      if life.sendingSince != nil {
        $0.key("devices")
        $0.object { writeDevices(to: &$0) }
      }
      if let source = request.source {
        $0.key("source")
        $0.object { write(source, to: &$0) }
      }
      if let problem = life.problem { $0.member("reason", problem) }
    }
    return writer.finish()
  }

  private func writeRecipient(to writer: inout JSONWriter) {
    switch request.recipient {
    case .member(let member): writer.member("member", member.text)
    case .device(let device): writer.member("device", device.text)
    case .trip(let trip): writer.member("trip", trip.text)
    case .withoutCard(let trip):
      writer.member("trip", trip.text)
      writer.member("only", "withoutCard")
    }
  }

  private func writeDevices(to writer: inout JSONWriter) {
    let devices = record.devices
    writer.member("accepted", devices.accepted)
    writer.member("unconfirmed", devices.unconfirmed)
    writer.member("waiting", devices.waiting)
    writer.member("dead", devices.dead)
    writer.member("refused", devices.refused)
  }

  private func write(_ source: ContentSource, to writer: inout JSONWriter) {
    let life = record.life
    writer.member("name", source.name)
    if let content = life.content { writer.member("items", content.count) }
    if life.usesFallback { writer.member("usesFallback", true) }
    if life.failedFetches > 0 { writer.member("failedFetches", life.failedFetches) }
    if life.phase == .scheduled, let due = life.due {
      writer.member("fetchAt", DateText.format(due))
    }
  }
}
