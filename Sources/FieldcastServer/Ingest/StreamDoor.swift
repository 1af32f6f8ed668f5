internal import Redis

/// Triggers that other services add to a stream: `XADD fieldcast:notes:in * json {"id":…,"trip":…}`.
///
/// An entry is acknowledged once it is in its partition's log or among the dead letters, so none is
/// lost to a crash; one that is handed out twice counts once, by its trigger ID.
struct StreamDoor: Sendable {
  static let key = "fieldcast:notes:in"
  static let group = "fieldcast"
  /// The field that holds the trigger.
  static let field = "json"

  let door: BackDoor
  let reader: StreamGroupReader

  /// Serves until the reader is closed or the task cancelled.
  func run() async {
    var retry = Retry()
    while !Task.isCancelled {
      do throws(RedisError) {
        let entries = try await reader.next()
        let messages = entries.map { BackDoor.Message(body: $0.value(of: Self.field)) }
        do { try await door.admit(messages) } catch { return }
        try await reader.acknowledge(entries.map(\.id))
        retry = Retry()
      } catch {
        if Task.isCancelled || error.failure?.kind == .closing { return }
        if retry.isFirst {
          door.log.warning("the stream of notes cannot be read", ["reason": "\(error)"])
        }
        do { try await retry.pause(on: door.loop) } catch { return }
      }
    }
  }
}

extension StreamEntry {
  /// The bytes of a field; empty when the entry has none of that name, which then reads as
  /// malformed.
  fileprivate func value(of name: String) -> [UInt8] {
    fields.first { $0.name == name }?.value ?? []
  }
}
