internal import Transport

/// Has those who change one record do so one after the other; those of other records do not wait.
///
/// A change starts from what was read, and is stored only if nobody else changed the record
/// meanwhile. Without turns, hundreds who change one at a time would spend their tries on each
/// other; with them, only other nodes come between.
final class Turns: Sendable {
  /// Who waits for a record that somebody changes just now, by the record's name.
  private let waiting = Lock<[String: [UnsafeContinuation<Void, Never>]]>([:])

  /// Waits until nobody else changes the record. Say ``give(_:)`` afterwards, whatever happens.
  func take(_ record: String) async {
    await withUnsafeContinuation { (turn: UnsafeContinuation<Void, Never>) in
      let isFree = waiting.withLock { waiting in
        guard waiting[record] != nil else {
          waiting[record] = []
          return true
        }
        waiting[record]?.append(turn)
        return false
      }
      if isFree { turn.resume() }
    }
  }

  /// Lets the next one have its turn.
  func give(_ record: String) {
    let next = waiting.withLock { waiting -> UnsafeContinuation<Void, Never>? in
      guard waiting[record]?.isEmpty == false else {
        waiting[record] = nil
        return nil
      }
      return waiting[record]?.removeFirst()
    }
    next?.resume()
  }
}
