internal import CLinux
internal import Glibc

/// A resolved address, ready for `connect` or `bind`.
struct SocketAddress: Sendable {
  private var storage: sockaddr_storage
  private var length: socklen_t

  var family: Int32 { Int32(storage.ss_family) }

  init(_ address: UnsafePointer<sockaddr>, length: socklen_t) {
    storage = sockaddr_storage()
    self.length = length
    withUnsafeMutableBytes(of: &storage) { target in
      target.copyMemory(
        from: UnsafeRawBufferPointer(start: address, count: min(Int(length), target.count)))
    }
  }

  /// - Returns: nil when the path does not fit into a socket address (107 bytes).
  init?(unixPath path: String) {
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    let bytes = Array(path.utf8)
    let fits = withUnsafeMutableBytes(of: &address.sun_path) { target in
      guard bytes.count < target.count else { return false }
      target.copyBytes(from: bytes)
      return true
    }
    guard fits else { return nil }
    storage = sockaddr_storage()
    length = socklen_t(MemoryLayout<sockaddr_un>.size)
    withUnsafeMutableBytes(of: &storage) { target in
      withUnsafeBytes(of: &address) { target.copyMemory(from: $0) }
    }
  }

  func withPointer<Result>(_ body: (UnsafePointer<sockaddr>, socklen_t) -> Result) -> Result {
    withUnsafeBytes(of: storage) { bytes in
      // A sockaddr_storage begins as a sockaddr does; that is what it is for.
      body(bytes.baseAddress.unsafelyUnwrapped.assumingMemoryBound(to: sockaddr.self), length)
    }
  }

  /// Host and port as numbers, for logs.
  var text: String {
    if family == AF_UNIX { return "unix" }
    var host = [CChar](repeating: 0, count: Int(NI_MAXHOST))
    var port = [CChar](repeating: 0, count: Int(NI_MAXSERV))
    let failure = withPointer { address, length in
      getnameinfo(
        address, length, &host, socklen_t(host.count), &port, socklen_t(port.count),
        NI_NUMERICHOST | NI_NUMERICSERV)
    }
    if failure != 0 { return "unknown" }
    let name = host.withUnsafeBufferPointer { String(cString: $0.baseAddress.unsafelyUnwrapped) }
    let number = port.withUnsafeBufferPointer { String(cString: $0.baseAddress.unsafelyUnwrapped) }
    return name.contains(":") ? "[\(name)]:\(number)" : "\(name):\(number)"
  }

  /// The address of a TCP address; nil for others.
  var ip: IPAddress? {
    withUnsafeBytes(of: storage) { bytes in
      switch family {
      case AF_INET:
        withUnsafeBytes(of: bytes.loadUnaligned(as: sockaddr_in.self).sin_addr) {
          IPAddress(bytes: Array($0))
        }
      case AF_INET6:
        withUnsafeBytes(of: bytes.loadUnaligned(as: sockaddr_in6.self).sin6_addr) {
          IPAddress(bytes: Array($0))
        }
      default: nil
      }
    }
  }

  /// The port of a TCP address; 0 for others.
  var port: Int {
    withUnsafeBytes(of: storage) { bytes in
      switch family {
      case AF_INET: Int(UInt16(bigEndian: bytes.loadUnaligned(as: sockaddr_in.self).sin_port))
      case AF_INET6: Int(UInt16(bigEndian: bytes.loadUnaligned(as: sockaddr_in6.self).sin6_port))
      default: 0
      }
    }
  }
}

/// Looks names up on a thread of its own, since the system's resolver blocks.
enum Resolver {
  private final class Question {
    let host: String
    let port: Int
    let answer: (Result<[SocketAddress], StreamError>) -> Void

    init(
      host: String, port: Int, answer: @escaping (Result<[SocketAddress], StreamError>) -> Void
    ) {
      self.host = host
      self.port = port
      self.answer = answer
    }
  }

  /// Calls `answer` on another thread, at once for a numeric address. Nothing is cached: each new
  /// connection sees the name's present addresses.
  static func resolve(
    host: String, port: Int,
    answer: @escaping @Sendable (Result<[SocketAddress], StreamError>) -> Void
  ) {
    if let numeric = lookUp(host, port, flags: Int32(AI_NUMERICHOST)) {
      answer(numeric)
      return
    }
    let question = Unmanaged.passRetained(Question(host: host, port: port, answer: answer))
    var thread = pthread_t()
    let failure = pthread_create(&thread, nil, Self.run, question.toOpaque())
    if failure == 0 {
      pthread_detach(thread)
    } else {
      question.release()
      answer(.failure(.notResolved(host: host, reason: SystemError.text(of: failure))))
    }
  }

  /// The address that a text such as `127.0.0.1` or `::1` writes; none for a name.
  static func numeric(_ text: String, port: Int) -> [SocketAddress] {
    guard case .success(let addresses) = lookUp(text, port, flags: Int32(AI_NUMERICHOST)) else {
      return []
    }
    return addresses
  }

  private static let run: @convention(c) (UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? = {
    context in
    guard let context else { return nil }
    let question = Unmanaged<Question>.fromOpaque(context).takeRetainedValue()
    if let answer = lookUp(question.host, question.port, flags: 0) { question.answer(answer) }
    return nil
  }

  /// - Returns: nil when only numbers were wanted and the host is a name.
  private static func lookUp(
    _ host: String, _ port: Int, flags: Int32
  ) -> Result<[SocketAddress], StreamError>? {
    var hints = addrinfo()
    hints.ai_flags = flags | Int32(AI_NUMERICSERV)
    hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
    var list: UnsafeMutablePointer<addrinfo>?
    let failure = getaddrinfo(host, String(port), &hints, &list)
    guard failure == 0 else {
      if flags != 0 { return nil }
      return .failure(.notResolved(host: host, reason: String(cString: gai_strerror(failure))))
    }
    defer { freeaddrinfo(list) }
    var addresses: [SocketAddress] = []
    var next = list
    while let entry = next?.pointee {
      if let address = entry.ai_addr {
        addresses.append(SocketAddress(address, length: entry.ai_addrlen))
      }
      next = entry.ai_next
    }
    return .success(addresses)
  }
}
