extension Actor {
  /// Runs `operation` as part of this actor, which lives on `loop`, from code that runs there too.
  ///
  /// It is `assumeIsolated` with another proof. That one asks the runtime where the present task
  /// runs, which costs as much as a tenth of a request; being on the loop's thread says the same,
  /// since this actor's jobs run nowhere else.
  @inline(__always)
  package nonisolated func onLoop<Value: Sendable>(
    _ loop: EventLoop, _ operation: (isolated Self) -> Value
  ) -> Value {
    precondition(loop.isOnLoop, "this belongs to another thread")
    typealias Plain = (Self) -> Value
    return withoutActuallyEscaping(operation) { isolated in
      // The two types differ in what the compiler checks and in nothing else.
      unsafeBitCast(isolated, to: Plain.self)(self)
    }
  }
}
