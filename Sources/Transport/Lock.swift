package import Synchronization

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
        SanitizerNews.taken(address)
        defer { SanitizerNews.givenBack(address) }
        return try body(&value)
      }
    #else
      try mutex.withLock(body)
    #endif
  }
}
