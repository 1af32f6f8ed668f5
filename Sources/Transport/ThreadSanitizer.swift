#if THREAD_SANITIZER
  internal import CLinux

  /// What the thread sanitizer is told of orders in time that it does not see by itself.
  @usableFromInline
  package enum SanitizerNews {
    /// All that was done before a lock was given back comes before all that is done when it is
    /// taken the next time.
    @usableFromInline
    package static func taken(_ address: UnsafeMutableRawPointer) { __tsan_acquire(address) }

    @usableFromInline
    package static func givenBack(_ address: UnsafeMutableRawPointer) { __tsan_release(address) }

    /// All that was done before a continuation was resumed comes before all that its task does
    /// next. Swift's runtime says so at the resumption, by the task's address, and where the task
    /// is enqueued; not where the resumption came before the task had begun to wait.
    static func resumed() {
      withUnsafeCurrentTask { task in
        if let task { __tsan_acquire(unsafeBitCast(task, to: UnsafeMutableRawPointer.self)) }
      }
    }
  }

  /// The runtime's own, which this hides in builds for the sanitizer, and a word to it.
  package func withUnsafeContinuation<Value>(
    isolation: isolated (any Actor)? = #isolation,
    _ body: (UnsafeContinuation<Value, Never>) -> Void
  ) async -> sending Value {
    let value = await _Concurrency.withUnsafeContinuation(isolation: isolation, body)
    SanitizerNews.resumed()
    return value
  }
#endif
