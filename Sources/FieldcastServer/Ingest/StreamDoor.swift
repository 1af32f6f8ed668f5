internal import Redis

/// Triggers that other services add to a stream: `XADD fieldcast:notes:in * json {"id":…,"trip":…}`.
///
/// An entry is acknowledged once it is in its partition's log or among the dead letters, so none is
/// lost to a crash; one that is handed out twice counts once, by its trigger ID. What all groups of
/// the stream have acknowledged leaves it, so its length is what waits.
struct StreamDoor: Sendable {
  static let key = "fieldcast:notes:in"
  static let group = "fieldcast"
  /// The field that holds the trigger.
  static let field = "json"

  let door: BackDoor
  let reader: StreamGroupReader

  /// Serves until the reader is closed or the task cancelled.
  func run() async {
    let done = Acknowledgements(loop: door.loop, acknowledge: acknowledge)
    await withDiscardingTaskGroup { group in
      group.addTask { await done.run() }
      await serve(done)
      await done.close()
    }
  }

  private func serve(_ done: Acknowledgements) async {
    await withDiscardingTaskGroup { group in
      group.addTask { await takeOverRegularly(done) }
      await door.serve(next: nextBatch) { await done.add($0) }
      group.cancelAll()
    }
  }

  /// Takes in what another node was given and never finished, as it ended for good.
  private func takeOverRegularly(_ done: Acknowledgements) async {
    repeat {
      // What cannot be claimed now can be in the next round.
      while let entries = try? await reader.claim(idleFor: .seconds(60)), !entries.isEmpty {
        let (batch, ids) = ready(entries)
        do { try await door.admit(batch) } catch { return }
        await done.add(ids)
      }
    } while (try? await door.loop.sleep(for: .seconds(20))) != nil
  }

  private func nextBatch() async -> (BackDoor.Batch, [StreamID])? {
    var retry = Retry()
    while !Task.isCancelled {
      do throws(RedisError) {
        return ready(try await reader.next())
      } catch {
        if error.failure?.kind == .closing { return nil }
        if retry.isFirst {
          door.log.warning("the stream of notes cannot be read", ["reason": "\(error)"])
        }
        do { try await retry.pause(on: door.loop) } catch { return nil }
      }
    }
    return nil
  }

  private func ready(_ entries: [StreamEntry]) -> (BackDoor.Batch, [StreamID]) {
    (door.read(entries.map { $0.value(of: Self.field) }), entries.map(\.id))
  }

  private func acknowledge(_ ids: [StreamID]) async {
    do throws(RedisError) {
      try await reader.finish(ids)
    } catch {
      // They are taken in, and only stay pending: handed out again, they are duplicates.
      door.log.warning("notes cannot be acknowledged", ["reason": "\(error)"])
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
