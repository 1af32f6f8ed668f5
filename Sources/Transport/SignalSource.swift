internal import CLinux
internal import Glibc

/// SIGINT, SIGTERM and SIGHUP as events on a loop.
package enum Signals {
  /// Blocks these signals for the calling thread and all that it starts from here on, so call it
  /// first thing in the program, before any loop is made.
  ///
  /// - Returns: a descriptor for ``deliver(from:on:to:)``.
  package static func block() throws(SystemError) -> Int32 {
    try systemCall("signalfd") { clinux_signal_descriptor() }
  }

  /// Calls `handler` on the loop with each signal's number.
  package static func deliver(
    from descriptor: Int32, on loop: EventLoop, to handler: @escaping @Sendable (Int32) -> Void
  ) {
    loop.execute {
      // Fails only when the process is out of memory for the watch; signals then stay blocked.
      _ = try? loop.watch(descriptor, events: EPOLLIN.rawValue) { _ in
        var information = signalfd_siginfo()
        let size = MemoryLayout<signalfd_siginfo>.size
        while read(descriptor, &information, size) == size {
          handler(Int32(information.ssi_signo))
        }
      }
    }
  }
}
