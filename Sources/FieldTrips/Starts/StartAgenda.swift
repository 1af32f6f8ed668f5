package import Clocks

/// Which members of a trip are to be looked at for cards to start, and when all of them are next.
///
/// They are looked at one pass after the other: two passes at once could start a card each on a
/// phone that two members share, and the one that ends last would put off what the other asked for.
package struct StartAgenda: Sendable {
  /// What the next pass is over.
  package enum Pass: Hashable, Sendable {
    case all
    case some([MemberID])
  }

  private var wantsAll = false
  private var wanted: Set<MemberID> = []
  private var isRunning = false
  /// A pass over all members has begun, and what comes after it has not.
  package private(set) var isOverAll = false
  /// When all members are looked through next, as the store has it; nil while that is not known.
  package private(set) var dueAt: UnixTime?
  /// The earliest time that was asked for since the last pass over all began.
  private var wish: UnixTime?

  package init() {}

  /// - Parameter members: nil are all of them; all are looked at too while it is not known when
  ///   that is due.
  package mutating func want(_ members: [MemberID]?) {
    if let members, dueAt != nil { wanted.formUnion(members) } else { wantsAll = true }
  }

  /// - Returns: whether whoever asks is to work the passes off; not while somebody else does.
  package mutating func begin() -> Bool {
    guard !isRunning else { return false }
    isRunning = true
    return true
  }

  /// The next pass; nil when there is none, and then somebody else may begin.
  package mutating func next() -> Pass? {
    defer { wanted = [] }
    isOverAll = false
    if wantsAll {
      wantsAll = false
      return .all
    }
    guard !wanted.isEmpty else {
      isRunning = false
      return nil
    }
    return .some(wanted.sorted())
  }

  /// A pass over all members begins; another one is due at this time should it not come to its end.
  package mutating func allBegin(until time: UnixTime) {
    dueAt = time
    wish = nil
    isOverAll = true
  }

  /// A pass over all members is done.
  ///
  /// - Parameter next: when one of them is to be looked at again.
  /// - Returns: when all are: earlier, if that was asked for meanwhile.
  package mutating func allDone(next: UnixTime) -> UnixTime {
    let due = min(next, wish ?? next)
    dueAt = due
    isOverAll = false
    return due
  }

  /// All are to be looked through at this time, if not before.
  ///
  /// - Returns: whether that is earlier than what is known.
  package mutating func look(at time: UnixTime) -> Bool {
    wish = min(wish ?? time, time)
    if let dueAt, dueAt <= time { return false }
    dueAt = time
    return true
  }
}
