import Clocks

/// Who waits for which exchange of an HTTP/2 client, and until when. A value; knows no time.
///
/// Slots have the indices of the session's slots. Requests that wait for a stream form a queue by
/// links between the slots, so that one may leave it from the middle without a search.
struct ExchangeWaiters {
  enum Phase: Sendable {
    case free
    /// Has a slot, and goes on to the queue or to a stream at once.
    case reserved
    /// Waits for a free stream.
    case queued
    case inFlight
    /// Was answered by a deadline or a cancellation; its stream is not closed yet.
    case abandoned
  }

  enum Completion {
    case none
    case task(UnsafeContinuation<ExchangeReply, Never>)
    /// A request of a source, by its number there.
    case feed(ExchangeFeed, Int)
  }

  struct Slot {
    var phase = Phase.free
    var completion = Completion.none
    var deadline = Moment.distantFuture
    /// Names the request, so that its task can be cancelled.
    var ticket = ExchangeTicket.none
    fileprivate var next: Int32 = -1
    fileprivate var previous: Int32 = -1
  }

  private(set) var slots = Slab(Slot())
  private(set) var queuedCount = 0
  private(set) var inFlightCount = 0
  private var head: Int32 = -1
  private var tail: Int32 = -1

  mutating func reserve(
    _ index: Int, deadline: Moment, ticket: ExchangeTicket, _ completion: Completion
  ) {
    slots.reserve(index)
    precondition(slots[index].phase == .free, "a slot has one user")
    slots[index].phase = .reserved
    slots[index].deadline = deadline
    slots[index].ticket = ticket
    slots[index].completion = completion
  }

  /// The slot of a request that is still waited for. A search, since a cancellation is rare.
  func index(of ticket: ExchangeTicket) -> Int? {
    slots.indices.first { slots[$0].ticket == ticket }
  }

  func phase(_ index: Int) -> Phase { slots[index].phase }

  /// The outcome is known: hands over who waits for it. Its ticket names nothing from here on.
  mutating func complete(_ index: Int) -> Completion {
    let completion = slots[index].completion
    slots[index].completion = .none
    slots[index].deadline = .distantFuture
    slots[index].ticket = .none
    return completion
  }

  mutating func enqueue(_ index: Int) {
    slots[index].phase = .queued
    slots[index].next = -1
    slots[index].previous = tail
    if tail >= 0 { slots[Int(tail)].next = Int32(index) } else { head = Int32(index) }
    tail = Int32(index)
    queuedCount += 1
  }

  /// The one that waits longest, still in the queue.
  var first: Int? { head >= 0 ? Int(head) : nil }

  mutating func dequeue(_ index: Int) {
    let (next, previous) = (slots[index].next, slots[index].previous)
    if previous >= 0 { slots[Int(previous)].next = next } else { head = next }
    if next >= 0 { slots[Int(next)].previous = previous } else { tail = previous }
    slots[index].phase = .reserved
    queuedCount -= 1
  }

  mutating func began(_ index: Int) {
    slots[index].phase = .inFlight
    inFlightCount += 1
  }

  mutating func abandon(_ index: Int) { slots[index].phase = .abandoned }

  mutating func streamEnded(_ index: Int) {
    inFlightCount -= 1
    slots[index].phase = .free
  }

  mutating func free(_ index: Int) { slots[index].phase = .free }

  /// Slots whose deadline is at `now` or before, and the earliest deadline of the others.
  func expired(at now: Moment) -> (indices: [Int], next: Moment) {
    var indices: [Int] = []
    var next = Moment.distantFuture
    for index in slots.indices {
      let deadline = slots[index].deadline
      if deadline <= now { indices.append(index) } else { next = min(next, deadline) }
    }
    return (indices, next)
  }
}
