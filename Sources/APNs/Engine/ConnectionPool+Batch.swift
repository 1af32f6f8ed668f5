import Clocks
import HTTP

/// Many alike requests at once.
extension ConnectionPool {
  /// How many requests one connection takes at a time. Enough that the pause between two portions
  /// does not count, few enough that another connection finds something left to do.
  static let portion = 2_000

  /// Sends many requests over as many connections as have room.
  ///
  /// What was certainly not processed travels again, as in ``send(_:values:body:deadline:)``.
  ///
  /// - Parameter indices: which of the items; the others are left out.
  /// - Returns: a reply for each of `indices`, in their order.
  func sendAll(
    _ template: RequestTemplate, _ items: [BatchItem], indices: [Int], deadline: Moment
  ) async -> [Reply] {
    let work = BatchWork(template: template, items: items, indices: indices)
    let workers = min(
      configuration.maxConnections, (indices.count + Self.portion - 1) / Self.portion)
    if workers <= 1 {
      await carry(work, until: deadline)
    } else {
      await withTaskGroup(of: Void.self) { group in
        for _ in 0..<workers {
          group.addTask(executorPreference: loop.tasks) {
            await self.carry(work, until: deadline)
          }
        }
      }
    }
    return work.replies.map {
      $0 ?? Reply(outcome: .notSent(ExchangeFailure(.deadline, "The batch's deadline passed.")))
    }
  }

  /// Takes portions until there are none.
  private func carry(_ work: BatchWork, until deadline: Moment) async {
    var attempts = 0
    while let positions = work.take(Self.portion) {
      guard let connection = choose(), let client = connection.client else {
        if let failure = await waitForRoom(until: deadline) {
          work.finish(positions, Reply(outcome: .notSent(failure)))
        } else {
          work.giveBack(positions)
        }
        continue
      }
      connection.inFlight += positions.count
      let outcomes = await client.sendAll(
        work.template, positions.map { work.item(at: $0) }, deadline: deadline - loop.now)
      for outcome in outcomes { learn(outcome, of: connection) }
      ended(positions.count, on: connection)
      let isLate = isClosed || loop.now >= deadline || attempts >= 32
      let isSettled = work.settle(positions, outcomes, connection.id, mayRepeat: !isLate) {
        Self.isWorthAnother($0)
      }
      attempts = isSettled ? 0 : attempts + 1
      if attempts > 1 { await pause(attempts, until: deadline) }
    }
  }
}

/// What is left of a batch, and what became of the rest.
///
/// `@unchecked Sendable` is right because it is touched on the pool's actor only.
final class BatchWork: @unchecked Sendable {
  let template: RequestTemplate
  private let items: [BatchItem]
  private let indices: [Int]
  private var next = 0
  private var returned: [Int] = []
  private(set) var replies: [ConnectionPool.Reply?]

  init(template: RequestTemplate, items: [BatchItem], indices: [Int]) {
    self.template = template
    self.items = items
    self.indices = indices
    replies = Array(repeating: nil, count: indices.count)
  }

  func item(at position: Int) -> BatchItem { items[indices[position]] }

  /// Positions of the next requests to send; nil when there are none left.
  func take(_ count: Int) -> [Int]? {
    if !returned.isEmpty {
      let portion = Array(returned.suffix(count))
      returned.removeLast(portion.count)
      return portion
    }
    guard next < indices.count else { return nil }
    let end = min(next + count, indices.count)
    defer { next = end }
    return Array(next..<end)
  }

  func giveBack(_ positions: [Int]) { returned += positions }

  func finish(_ positions: [Int], _ reply: ConnectionPool.Reply) {
    for position in positions { replies[position] = reply }
  }

  /// Keeps what is final, and takes the rest back.
  ///
  /// - Returns: whether anything is final. A connection that turned all of them away may do so
  ///   again at once.
  func settle(
    _ positions: [Int], _ outcomes: [ExchangeOutcome], _ connection: Int, mayRepeat: Bool,
    isWorthAnother: (ExchangeFailure.Kind) -> Bool
  ) -> Bool {
    var again: [Int] = []
    for (position, outcome) in zip(positions, outcomes) {
      if mayRepeat, case .notSent(let failure) = outcome, isWorthAnother(failure.kind) {
        again.append(position)
      } else {
        replies[position] = ConnectionPool.Reply(outcome: outcome, connection: connection)
      }
    }
    giveBack(again)
    return again.count < positions.count
  }
}
