internal import FieldTrips

/// The notifications that this node is busy with.
///
/// `@unchecked Sendable` is right because only the owner touches it, on its loop.
final class NotificationDesk: @unchecked Sendable {
  struct Counts: Sendable {
    /// By phase at their end.
    var over: [NotificationLife.Phase: Int] = [:]
    var accepted = 0
    var later = 0
    var dead = 0
    var refused = 0
    var unconfirmed = 0
  }

  /// Waiting or being worked on.
  private var taken: Set<NotificationID> = []
  private var waiting: [(id: NotificationID, holding: Holding)] = []
  private var next = 0
  private var running = 0
  private var fetching = 0
  var counts = Counts()

  /// So many at once keep APNs' connections busy; more would only cost memory.
  private static let mostRunning = 256
  private static let mostFetching = 16

  /// - Returns: false if it is in hand already.
  func take(_ id: NotificationID, of holding: Holding) -> Bool {
    guard taken.insert(id).inserted else { return false }
    waiting.append((id, holding))
    return true
  }

  /// The next one to be worked on, if there is room.
  func begin() -> (id: NotificationID, holding: Holding)? {
    guard running < Self.mostRunning, next < waiting.count else { return nil }
    defer {
      next += 1
      if next == waiting.count {
        waiting = []
        next = 0
      }
    }
    running += 1
    return waiting[next]
  }

  func end(_ id: NotificationID) {
    running -= 1
    taken.remove(id)
  }

  /// - Returns: false when so many sources are being asked that this one has to wait.
  func beginFetch() -> Bool {
    guard fetching < Self.mostFetching else { return false }
    fetching += 1
    return true
  }

  func endFetch() { fetching -= 1 }
}
