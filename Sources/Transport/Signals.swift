internal import CLinux
internal import Glibc

/// SIGINT, SIGTERM and SIGHUP as events on a loop.
package enum Signals {
  /// Catches these signals for the whole process from here on. Call once.
  ///
  /// - Returns: a descriptor for ``deliver(from:on:to:)``.
  package static func catchAll() throws(SystemError) -> Int32 {
    try systemCall("sigaction") { clinux_signal_descriptor() }
  }

  /// Calls `handler` on the loop with each signal's number.
  package static func deliver(
    from descriptor: Int32, on loop: EventLoop, to handler: @escaping @Sendable (Int32) -> Void
  ) {
    loop.execute {
      // Fails only when the process is out of memory for the watch; signals then have no effect.
      _ = try? loop.watch(descriptor, events: EPOLLIN.rawValue) { _ in
        var number: UInt8 = 0
        while read(descriptor, &number, 1) == 1 { handler(Int32(number)) }
      }
    }
  }
}
