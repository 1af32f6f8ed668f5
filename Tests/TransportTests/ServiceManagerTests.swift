import Glibc
import Testing

@testable import Transport

@Suite struct `The service manager` {
  /// A socket as systemd opens it.
  private func receiver(at address: String) throws -> Int32 {
    let kind = SOCK_DGRAM.rawValue | SOCK_NONBLOCK.rawValue
    let descriptor = socket(AF_UNIX, Int32(kind), 0)
    var name = sockaddr_un()
    name.sun_family = sa_family_t(AF_UNIX)
    let bytes = address.first == "@" ? [0] + Array(address.utf8.dropFirst()) : Array(address.utf8)
    withUnsafeMutableBytes(of: &name.sun_path) { $0.copyBytes(from: bytes) }
    let length = socklen_t(MemoryLayout<sa_family_t>.size + bytes.count)
    let result = withUnsafePointer(to: name) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { Glibc.bind(descriptor, $0, length) }
    }
    try #require(result == 0)
    return descriptor
  }

  private func next(from descriptor: Int32) -> String {
    var bytes = [UInt8](repeating: 0, count: 100)
    let count = recv(descriptor, &bytes, bytes.count, 0)
    return String(decoding: bytes[..<max(0, count)], as: UTF8.self)
  }

  @Test(arguments: [true, false])
  func `hears that the service is ready, lives and stops`(hasFile: Bool) throws {
    let folder = try TemporaryFolder(for: "manager")
    defer { folder.remove() }
    let address = hasFile ? folder.path + "/notify" : "@" + folder.path
    let descriptor = try receiver(at: address)
    defer { close(descriptor) }
    let settings = ["NOTIFY_SOCKET": address, "WATCHDOG_USEC": "20000000"]
    let manager = try #require(ServiceManager { settings[$0] })
    #expect(manager.watchdogInterval == .seconds(10))
    try manager.isReady()
    try manager.isAlive()
    try manager.isStopping()
    #expect(next(from: descriptor) == "READY=1")
    #expect(next(from: descriptor) == "WATCHDOG=1")
    #expect(next(from: descriptor) == "STOPPING=1")
  }

  @Test func `is not told anything where there is none`() {
    #expect(ServiceManager { _ in nil } == nil)
    #expect(ServiceManager { $0 == "NOTIFY_SOCKET" ? "somewhere" : nil } == nil)
  }

  @Test func `watches one process, which may be another`() throws {
    var settings = ["NOTIFY_SOCKET": "@a", "WATCHDOG_USEC": "1000000", "WATCHDOG_PID": "1"]
    #expect(try #require(ServiceManager { settings[$0] }).watchdogInterval == nil)
    settings["WATCHDOG_PID"] = "\(getpid())"
    #expect(try #require(ServiceManager { settings[$0] }).watchdogInterval == .milliseconds(500))
  }

  @Test func `that is gone is an error that names its address`() throws {
    let manager = try #require(
      ServiceManager { $0 == "NOTIFY_SOCKET" ? "/nonexistent/notify" : nil })
    let error = #expect(throws: SystemError.self) { try manager.isReady() }
    #expect("\(error as Any)".contains("/nonexistent/notify"))
  }
}
