/// What comes next among many, by time: a binary heap.
struct TimeQueue<Element: Sendable>: Sendable {
  private var entries: [(at: Double, element: Element)] = []

  var isEmpty: Bool { entries.isEmpty }
  var nextAt: Double? { entries.first?.at }

  mutating func add(_ element: Element, at time: Double) {
    entries.append((time, element))
    var child = entries.count - 1
    while child > 0 {
      let parent = (child - 1) / 2
      guard entries[child].at < entries[parent].at else { return }
      entries.swapAt(child, parent)
      child = parent
    }
  }

  mutating func removeNext() -> (at: Double, element: Element)? {
    guard let next = entries.first else { return nil }
    let last = entries.removeLast()
    guard !entries.isEmpty else { return next }
    entries[0] = last
    var parent = 0
    while true {
      var least = parent
      for child in [2 * parent + 1, 2 * parent + 2] where child < entries.count {
        if entries[child].at < entries[least].at { least = child }
      }
      guard least != parent else { return next }
      entries.swapAt(parent, least)
      parent = least
    }
  }
}
