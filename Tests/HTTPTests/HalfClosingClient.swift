import Glibc
import Transport

/// Sends a text, ends its own side of the connection, and reads what comes; blocks meanwhile.
enum HalfClosingClient {
  struct Failure: Error {
    let call: String
    let code: Int32
  }

  static func ask(_ endpoint: Endpoint, _ text: String) throws -> String {
    guard case .tcp(_, let port) = endpoint else { return "" }
    let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    guard descriptor >= 0 else { throw Failure(call: "socket", code: errno) }
    defer { close(descriptor) }
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = in_port_t(port).bigEndian
    address.sin_addr.s_addr = inet_addr("127.0.0.1")
    let connected = withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    }
    guard connected == 0 else { throw Failure(call: "connect", code: errno) }
    let bytes = Array(text.utf8)
    guard send(descriptor, bytes, bytes.count, 0) == bytes.count else {
      throw Failure(call: "send", code: errno)
    }
    shutdown(descriptor, Int32(SHUT_WR))
    var received: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 4_096)
    while true {
      let count = recv(descriptor, &buffer, buffer.count, 0)
      guard count >= 0 else { throw Failure(call: "recv", code: errno) }
      if count == 0 { return String(decoding: received, as: UTF8.self) }
      received += buffer[..<count]
    }
  }
}
