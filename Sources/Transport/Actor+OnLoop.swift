extension Actor {
  /// Runs `operation` as part of this actor, which lives on `loop`, from code that runs there too.
  ///
  /// It is `assumeIsolated` with another proof. That one asks the runtime where the present task
  /// runs; being on the loop's thread says the same, since this actor's jobs run nowhere else. And
  /// an operation that captures nothing costs no memory. Both together are a tenth of a request.
  ///
  /// - Parameters:
  ///   - argument: handed to the operation, which should capture nothing.
  @inlinable
  @inline(__always)
  package nonisolated func onLoop<Argument: Sendable, Value: Sendable>(
    _ loop: EventLoop, _ argument: Argument,
    _ operation: @escaping (isolated Self, Argument) -> Value
  ) -> Value {
    precondition(loop.isOnLoop, "this belongs to another thread")
    typealias Plain = (Self, Argument) -> Value
    // The two types differ in what the compiler checks and in nothing else.
    return unsafeBitCast(operation, to: Plain.self)(self, argument)
  }
}
