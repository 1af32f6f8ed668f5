internal import CLinux
internal import Glibc

/// The manager that started this process and wants to hear how it fares: systemd, of a unit with
/// `Type=notify`. See sd_notify(3).
package struct ServiceManager: Sendable {
  private let address: String
  /// How often it must hear ``isAlive()`` at least, half of what it waits for; nil where it does not
  /// watch.
  package let watchdogInterval: Duration?

  /// - Parameter variable: reads the environment.
  /// - Returns: nil when nobody waits for news: started by hand, or by another manager.
  package init?(
    environment variable: (String) -> String? = { getenv($0).map { String(cString: $0) } }
  ) {
    guard let address = variable("NOTIFY_SOCKET"), address.first == "/" || address.first == "@"
    else { return nil }
    self.address = address
    // A watchdog may be meant for another process that we were started by.
    let isForUs = variable("WATCHDOG_PID").map { $0 == "\(getpid())" } ?? true
    watchdogInterval = variable("WATCHDOG_USEC").flatMap { Int64($0) }
      .flatMap { isForUs && $0 > 0 ? .microseconds($0 / 2) : nil }
  }

  /// The service can work now.
  package func isReady() throws(SystemError) { try tell("READY=1") }
  /// It still works; see ``watchdogInterval``.
  package func isAlive() throws(SystemError) { try tell("WATCHDOG=1") }
  /// It ends, as it was told to.
  package func isStopping() throws(SystemError) { try tell("STOPPING=1") }

  private func tell(_ news: String) throws(SystemError) {
    let kind = Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue)
    let descriptor = try systemCall("socket") { socket(AF_UNIX, kind, 0) }
    defer { close(descriptor) }
    var name = sockaddr_un()
    name.sun_family = sa_family_t(AF_UNIX)
    // An address without a file begins with NUL; in the environment `@` stands for it.
    let bytes = address.first == "@" ? [0] + Array(address.utf8.dropFirst()) : Array(address.utf8)
    let room = MemoryLayout.size(ofValue: name.sun_path)
    guard bytes.count < room else {
      throw SystemError(call: "send to \(address)", code: ENAMETOOLONG)
    }
    withUnsafeMutableBytes(of: &name.sun_path) { $0.copyBytes(from: bytes) }
    let length = socklen_t(MemoryLayout<sa_family_t>.size + bytes.count)
    _ = try systemCall("send to \(address)") {
      withUnsafePointer(to: name) { name in
        name.withMemoryRebound(to: sockaddr.self, capacity: 1) { name in
          Int32(
            sendto(descriptor, news, news.utf8.count, Int32(MSG_NOSIGNAL), name, length))
        }
      }
    }
  }

}
