internal import Clocks

/// Something that will happen to a single phone.
struct PhoneDelivery: Sendable {
  enum What: Sendable {
    case push(ActivityPush, DeliveryTarget)
    case notification(SimulatedNotification)
    /// The app hands its server a new update token.
    case issueUpdateToken(activityID: Int)
  }

  var at: UnixTime
  var phone: Int
  var what: What
}

/// What is on its way to single phones, earliest first; what falls on one instant keeps its order.
struct DeliveryQueue: Sendable {
  private struct Entry: Sendable {
    var delivery: PhoneDelivery
    var order: UInt64

    static func precedes(_ left: Entry, _ right: Entry) -> Bool {
      (left.delivery.at, left.order) < (right.delivery.at, right.order)
    }
  }

  private var heap: [Entry] = []
  private var order: UInt64 = 0

  var count: Int { heap.count }
  var nextAt: UnixTime? { heap.first?.delivery.at }

  mutating func add(_ delivery: PhoneDelivery) {
    heap.append(Entry(delivery: delivery, order: order))
    order += 1
    var child = heap.count - 1
    while child > 0 {
      let parent = (child - 1) / 2
      guard Entry.precedes(heap[child], heap[parent]) else { return }
      heap.swapAt(child, parent)
      child = parent
    }
  }

  /// The earliest delivery, if it is due.
  mutating func next(until now: UnixTime) -> PhoneDelivery? {
    guard let first = heap.first, first.delivery.at <= now else { return nil }
    let last = heap.removeLast()
    if !heap.isEmpty {
      heap[0] = last
      sink()
    }
    return first.delivery
  }

  private mutating func sink() {
    var parent = 0
    while true {
      var least = parent
      for child in [2 * parent + 1, 2 * parent + 2] where child < heap.count {
        if Entry.precedes(heap[child], heap[least]) { least = child }
      }
      if least == parent { return }
      heap.swapAt(parent, least)
      parent = least
    }
  }
}
