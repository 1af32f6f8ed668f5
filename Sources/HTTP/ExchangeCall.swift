package import Clocks
import Synchronization
package import Transport

/// Takes requests on a loop: a connection, or a pool of them.
package protocol ExchangeTaker: AnyObject, Sendable {
  var loop: EventLoop { get }
  /// Called on the loop.
  func takeOnLoop(_ call: ExchangeCall)
  /// Called on the loop; nothing happens when the request has ended, or was never taken.
  func cancelOnLoop(_ ticket: ExchangeTicket)
}

/// A request on its way to a connection, and who waits for its outcome.
package struct ExchangeCall: Sendable {
  let ticket: ExchangeTicket
  let template: RequestTemplate
  let values: FieldValues
  let body: [UInt8]
  let deadline: Moment
  let continuation: UnsafeContinuation<ExchangeReply, Never>

  /// - Parameters:
  ///   - values: known to fit the template.
  ///   - deadline: on the machine's monotonic clock.
  ///   - continuation: is resumed exactly once, perhaps at once.
  private init(
    ticket: ExchangeTicket, template: RequestTemplate, values: FieldValues, body: [UInt8],
    deadline: Moment, continuation: UnsafeContinuation<ExchangeReply, Never>
  ) {
    self.ticket = ticket
    self.template = template
    self.values = values
    self.body = body
    self.deadline = deadline
    self.continuation = continuation
  }

  /// Hands a request over and waits for its reply. Called from a task that prefers the loop it costs
  /// no change of executor, of which an actor's own method would make four.
  ///
  /// - Parameters:
  ///   - values: known to fit the template.
  ///   - deadline: on the machine's monotonic clock.
  package static func reply(
    from taker: any ExchangeTaker, _ template: RequestTemplate, values: FieldValues,
    body: [UInt8], deadline: Moment
  ) async -> ExchangeReply {
    let ticket = ExchangeTicket.next()
    let loop = taker.loop
    return await withTaskCancellationHandler {
      await withUnsafeContinuation { continuation in
        let call = ExchangeCall(
          ticket: ticket, template: template, values: values, body: body, deadline: deadline,
          continuation: continuation)
        if loop.isOnLoop {
          taker.takeOnLoop(call)
        } else {
          loop.execute { taker.takeOnLoop(call) }
        }
        // A cancellation from before has found no request with this ticket.
        if Task.isCancelled { loop.execute { taker.cancelOnLoop(ticket) } }
      }
    } onCancel: {
      loop.execute { taker.cancelOnLoop(ticket) }
    }
  }

  /// Answers in a connection's place, when there is none.
  package func refuse(_ failure: ExchangeFailure) {
    continuation.resume(returning: ExchangeReply(.notSent(failure)))
  }
}

/// An outcome, and the connection that it came over.
package struct ExchangeReply: Sendable {
  package var outcome: ExchangeOutcome
  /// The ``HTTP2Client/label`` of the connection; nil when none took the request.
  package var connection: Int?

  package init(_ outcome: ExchangeOutcome, connection: Int? = nil) {
    self.outcome = outcome
    self.connection = connection
  }
}

/// Names a request in this process, so that it can be cancelled from anywhere.
package struct ExchangeTicket: Sendable, Hashable {
  private static let last = Atomic<UInt64>(0)
  private let number: UInt64

  /// Names nothing.
  static let none = ExchangeTicket(number: 0)

  static func next() -> ExchangeTicket {
    ExchangeTicket(number: last.wrappingAdd(1, ordering: .relaxed).newValue)
  }
}
