/// The events of a subscriber that wait for its one consumer, or the consumer that waits for them.
struct SubscriberQueue {
  private var events: [SubscriberEvent] = []
  private var consumer: UnsafeContinuation<[SubscriberEvent]?, Never>?
  private(set) var isClosed = false

  var count: Int { events.count }

  mutating func append(_ event: SubscriberEvent) { events.append(event) }

  /// Gives the consumer what waits, or nil once closed, as soon as there is something to give.
  ///
  /// - Returns: whether that was now, and there is room again.
  mutating func serve(_ consumer: UnsafeContinuation<[SubscriberEvent]?, Never>) -> Bool {
    precondition(self.consumer == nil, "a subscriber has one consumer")
    self.consumer = consumer
    return deliver()
  }

  /// Gives what waits to the consumer, if it waits too.
  ///
  /// - Returns: whether it did; then there is room again.
  @discardableResult
  mutating func deliver() -> Bool {
    guard isClosed || !events.isEmpty, let consumer = consumer.take() else { return false }
    consumer.resume(returning: events.isEmpty ? nil : events)
    events = []
    return true
  }

  /// What waits can still be taken.
  mutating func close() {
    isClosed = true
    deliver()
  }
}
