import Clocks
import HTTP
import Transport

/// Many alike requests at once.
extension ConnectionPool {
  /// How many requests are worth a further connection.
  static let portion = 2_000

  /// Sends what is left of a batch over as many connections as have room. Each takes the next
  /// request whenever a stream is free.
  ///
  /// What was certainly not processed travels again, as in ``send(_:values:body:deadline:)``.
  func send(_ batch: PushBatch, _ template: RequestTemplate, deadline: Moment) async {
    let workers = min(
      configuration.maxConnections, (batch.left + Self.portion - 1) / Self.portion)
    if workers <= 1 { return await carry(batch, template, until: deadline) }
    await withTaskGroup(of: Void.self) { group in
      for _ in 0..<workers {
        group.addTask(executorPreference: loop.tasks) {
          await self.carry(batch, template, until: deadline)
        }
      }
    }
  }

  /// Hands the batch to one connection after the other until nothing of it is left.
  private func carry(
    _ batch: PushBatch, _ template: RequestTemplate, until deadline: Moment
  ) async {
    var attempts = 0
    while batch.left > 0 {
      guard let connection = choose(), let client = connection.client else {
        if let failure = await waitForRoom(until: deadline) {
          return batch.finishRest(APNsFailure(failure))
        }
        continue
      }
      batch.offerAgain()
      let feed = BatchFeed(batch, connection)
      let stop = await client.carry(feed, template, deadline: deadline)
      if let stop, !Self.isWorthAnother(stop.kind) { return batch.finishRest(APNsFailure(stop)) }
      if isClosed || loop.now >= deadline || attempts >= 32 {
        return batch.finishRest(APNsFailure(stop ?? feed.lastFailure ?? PushBatch.late))
      }
      // A connection that turned all of them away may do so again at once.
      attempts = feed.hasSettled ? 0 : attempts + 1
      if attempts > 1 { await pause(attempts, until: deadline) }
    }
  }
}

/// A batch as one connection takes from it.
///
/// `@unchecked Sendable` is right because it is touched on the pool's loop only.
private final class BatchFeed: ExchangeSource, @unchecked Sendable {
  private let batch: PushBatch
  private let connection: ConnectionPool.Connection
  /// Whether anything has come to its end on this connection.
  private(set) var hasSettled = false
  private(set) var lastFailure: ExchangeFailure?

  init(_ batch: PushBatch, _ connection: ConnectionPool.Connection) {
    self.batch = batch
    self.connection = connection
  }

  func next() -> Int? {
    guard let number = batch.next() else { return nil }
    connection.inFlight += 1
    return number
  }

  func request(_ number: Int) -> BatchItem { batch.request(number) }

  func ended(_ number: Int, _ outcome: ExchangeOutcome) {
    if case .notSent(let failure) = outcome, ConnectionPool.isWorthAnother(failure.kind) {
      lastFailure = failure
      batch.giveBack(number)
    } else {
      hasSettled = true
      batch.finish(number, outcome, connection.id)
    }
  }
}
