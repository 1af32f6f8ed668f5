internal import Clocks

/// A queue in a ring that grows: first in, first out, at constant cost.
struct FIFO<Element> {
  private var slots: [Element?]
  private var head = 0
  private(set) var count = 0

  init() { slots = Array(repeating: nil, count: 16) }

  var isEmpty: Bool { count == 0 }

  var first: Element? { count == 0 ? nil : slots[head] }

  /// The element `offset` places behind the first.
  subscript(offset: Int) -> Element {
    get {
      guard offset < count, let element = slots[position(offset)] else {
        preconditionFailure("offset \(offset) in a queue of \(count)")
      }
      return element
    }
    set {
      precondition(offset < count, "offset \(offset) in a queue of \(count)")
      slots[position(offset)] = newValue
    }
  }

  mutating func append(_ element: Element) {
    if count == slots.count { grow() }
    slots[position(count)] = element
    count += 1
  }

  mutating func popFirst() -> Element? {
    guard count > 0 else { return nil }
    let element = slots[head].take()
    head = (head + 1) & (slots.count - 1)
    count -= 1
    return element
  }

  /// Takes out the elements whose deadline has come, and returns the earliest deadline that is
  /// left.
  ///
  /// Looks at all of them, so its caller must not do so more often than every few milliseconds.
  mutating func removeLate(
    at now: Moment, deadline: (Element) -> Moment, _ fail: (Element) -> Void
  ) -> Moment {
    var earliest = Moment.distantFuture
    for _ in 0..<count {
      guard let element = popFirst() else { break }
      let deadline = deadline(element)
      if deadline <= now {
        fail(element)
      } else {
        earliest = min(earliest, deadline)
        append(element)
      }
    }
    return earliest
  }

  /// The ring's size is always a power of two.
  private func position(_ offset: Int) -> Int { (head + offset) & (slots.count - 1) }

  private mutating func grow() {
    var larger: [Element?] = []
    larger.reserveCapacity(slots.count * 2)
    for offset in 0..<count { larger.append(slots[position(offset)]) }
    larger.append(contentsOf: repeatElement(nil, count: slots.count * 2 - count))
    slots = larger
    head = 0
  }
}
