import Clocks

/// Many alike requests that connections take one by one, as streams become free.
///
/// Several connections may take from one source. All calls come on the loop of the connections.
package protocol ExchangeSource: AnyObject, Sendable {
  /// The number of the next request to send; nil when there is none left.
  func next() -> Int?
  /// A request that ``next()`` gave.
  func request(_ number: Int) -> BatchItem
  /// What became of a request; once for each that was taken.
  func ended(_ number: Int, _ outcome: ExchangeOutcome)
}

/// One of many alike requests: what differs from the template, and the body.
package struct BatchItem: Sendable {
  package var values: FieldValues
  package var body: [UInt8]

  package init(values: FieldValues, body: [UInt8]) {
    self.values = values
    self.body = body
  }
}

/// One source's use of one connection.
///
/// `@unchecked Sendable` is right because it is made for, and touched by, one client alone.
final class ExchangeFeed: @unchecked Sendable {
  let source: any ExchangeSource
  let template: RequestTemplate
  let deadline: Moment
  /// Requests that were taken and have not ended.
  var open = 0
  /// Why no more is taken, though there may be more; nil as long as the source is asked.
  var stop: ExchangeFailure?
  /// Whether the source had no more when it was asked.
  var isEmpty = false
  var continuation: UnsafeContinuation<ExchangeFailure?, Never>?

  init(source: any ExchangeSource, template: RequestTemplate, deadline: Moment) {
    self.source = source
    self.template = template
    self.deadline = deadline
  }

  func finish(_ number: Int, _ outcome: ExchangeOutcome) {
    open -= 1
    source.ended(number, outcome)
    resumeIfDone()
  }

  func resumeIfDone() {
    guard open == 0, isEmpty || stop != nil, let continuation else { return }
    self.continuation = nil
    continuation.resume(returning: isEmpty ? nil : stop)
  }
}

/// A list of requests whose outcomes are kept in its order.
///
/// `@unchecked Sendable` is right because it is made for, and touched on the loop of, one client.
final class ExchangeList: ExchangeSource, @unchecked Sendable {
  private let items: [BatchItem]
  private var outcomes: [ExchangeOutcome?]
  private var taken = 0

  init(_ items: [BatchItem]) {
    self.items = items
    outcomes = Array(repeating: nil, count: items.count)
  }

  func next() -> Int? {
    guard taken < items.count else { return nil }
    defer { taken += 1 }
    return taken
  }

  func request(_ number: Int) -> BatchItem { items[number] }

  func ended(_ number: Int, _ outcome: ExchangeOutcome) { outcomes[number] = outcome }

  /// All outcomes.
  ///
  /// - Parameter rest: what became of requests that were never taken.
  func outcomes(rest: ExchangeOutcome) -> [ExchangeOutcome] { outcomes.map { $0 ?? rest } }
}
