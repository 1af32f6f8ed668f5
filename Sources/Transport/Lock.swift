package import Synchronization

#if THREAD_SANITIZER
  internal import CLinux
#endif

/// A value behind a lock.
///
/// It is a `Mutex` that tells the thread sanitizer when it is taken and given back: the sanitizer
/// knows the locks of C and not this one, and without word of it takes whatever it protects for a
/// race. The same lock is taken in every build; only one with `-DTHREAD_SANITIZER` says so.
package struct Lock<Value: ~Copyable>: ~Copyable, Sendable {
  @usableFromInline let mutex: Mutex<Value>

  @inlinable
  package init(_ value: consuming sending Value) { mutex = Mutex(value) }

  @inlinable
  package borrowing func withLock<Result: ~Copyable, Failure: Error>(
    _ body: (inout sending Value) throws(Failure) -> sending Result
  ) throws(Failure) -> sending Result {
    #if THREAD_SANITIZER
      let address = withUnsafePointer(to: mutex) { UnsafeMutableRawPointer(mutating: $0) }
      return try mutex.withLock { (value) throws(Failure) in
        LockNews.taken(address)
        defer { LockNews.givenBack(address) }
        return try body(&value)
      }
    #else
      try mutex.withLock(body)
    #endif
  }
}

#if THREAD_SANITIZER
  /// What the thread sanitizer is told: that all that was done before a lock was given back comes
  /// before all that is done when it is taken the next time.
  @usableFromInline
  package enum LockNews {
    @usableFromInline
    package static func taken(_ address: UnsafeMutableRawPointer) { __tsan_acquire(address) }

    @usableFromInline
    package static func givenBack(_ address: UnsafeMutableRawPointer) { __tsan_release(address) }
  }
#endif
