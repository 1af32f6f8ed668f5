internal import Crypto
package import Transport

/// A proxy that opens tunnels for others: it is asked by `CONNECT`, in plain text, and everything
/// behind its answer goes to the far side unread.
///
/// - SeeAlso: RFC 9110, section 9.3.6.
public struct HTTPProxy: Sendable, Hashable {
  /// A name or an address, IPv6 without brackets.
  public let host: String
  /// 1 to 65,535.
  public let port: Int
  /// The value of `proxy-authorization`; a secret.
  let authorization: String?

  /// - Parameters:
  ///   - user: without a colon, which ends a name in Basic authentication. Nil sends no credentials.
  ///   - password: may be empty.
  public init(
    host: String, port: Int, user: String? = nil, password: String = ""
  ) throws(HTTPProxyAddressError) {
    guard HTTP1Syntax.isHost(host), (1...65_535).contains(port) else { throw .notAnAddress }
    self.host = host
    self.port = port
    guard let user else {
      authorization = nil
      return
    }
    let isPlain = (user + password).utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F }
    guard isPlain, !user.contains(":") else { throw .unusableCredentials }
    let pair = Base64.standard.encode(Array("\(user):\(password)".utf8))
    authorization = "Basic " + String(decoding: pair, as: UTF8.self)
  }

  /// Reads a URL such as `http://proxy.example:3128`. A user and a password may stand before the
  /// host, `user:password@`; what is not plain in them is written as `%3A`.
  public init(url: String) throws(HTTPProxyAddressError) {
    let scheme = "http://"
    guard url.lowercased().hasPrefix(scheme) else { throw .notAnAddress }
    var rest = url.dropFirst(scheme.utf8.count)
    if rest.hasSuffix("/") { rest.removeLast() }
    var user: String?
    var password = ""
    if let at = rest.lastIndex(of: "@") {
      let parts = rest[..<at].split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
      user = try Self.decoded(parts[0])
      if parts.count == 2 { password = try Self.decoded(parts[1]) }
      rest = rest[rest.index(after: at)...]
    }
    guard let colon = rest.lastIndex(of: ":"), let port = Int(rest[rest.index(after: colon)...])
    else { throw .notAnAddress }
    var host = rest[..<colon]
    if host.hasPrefix("["), host.hasSuffix("]") { host = host.dropFirst().dropLast() }
    try self.init(host: String(host), port: port, user: user, password: password)
  }

  var endpoint: Endpoint { .tcp(host: host, port: port) }

  private static func decoded(_ text: Substring) throws(HTTPProxyAddressError) -> String {
    var bytes: [UInt8] = []
    var rest = text.utf8
    while let byte = rest.popFirst() {
      guard byte == UInt8(ascii: "%") else {
        bytes.append(byte)
        continue
      }
      guard rest.count >= 2, let digits = String(rest.prefix(2)),
        let value = UInt8(digits, radix: 16)
      else { throw .unusableCredentials }
      bytes.append(value)
      rest = rest.dropFirst(2)
    }
    return String(decoding: bytes, as: UTF8.self)
  }
}

extension HTTPProxy: CustomStringConvertible, CustomReflectable {
  /// Without the credentials.
  public var description: String { "\(endpoint)" }

  /// Without the credentials.
  public var customMirror: Mirror { Mirror(self, children: ["endpoint": "\(endpoint)"]) }
}

/// Why something cannot be the address of a proxy. Repeats nothing of it, since it may hold a
/// password.
public enum HTTPProxyAddressError: Error, Sendable, CustomStringConvertible {
  case notAnAddress
  case unusableCredentials

  public var description: String {
    switch self {
    case .notAnAddress:
      "this is no proxy: expected http:// and then HOST:PORT or USER:PASSWORD@HOST:PORT"
    case .unusableCredentials:
      "the proxy's user or password cannot be used: no control characters, no colon in the user, "
        + "and % only before two hexadecimal digits"
    }
  }
}

/// Why a proxy opened no tunnel.
package enum HTTPProxyError: Error, Sendable, Equatable, CustomStringConvertible {
  /// The proxy itself cannot be reached.
  case unreachable(proxy: String, StreamError)
  /// 407. `hadCredentials` tells a missing password from a wrong one.
  case wantsCredentials(proxy: String, scheme: String?, hadCredentials: Bool)
  /// Any other status: not allowed, or the far side cannot be reached from there.
  case refused(proxy: String, target: String, status: Int)
  /// It answered with something that is not HTTP, or with bytes behind its answer.
  case malformed(proxy: String, problem: String)
  case silent(proxy: String, target: String, seconds: Double)
  case closedEarly(proxy: String, target: String)

  package var description: String {
    switch self {
    case .unreachable(let proxy, let error): return "the proxy \(proxy) cannot be reached: \(error)"
    case .wantsCredentials(let proxy, let scheme, hadCredentials: true):
      return "the proxy \(proxy) does not accept the user and password (407\(Self.wish(scheme)))"
    case .wantsCredentials(let proxy, let scheme, hadCredentials: false):
      return "the proxy \(proxy) wants a user and a password (407\(Self.wish(scheme)))"
    case .refused(let proxy, let target, let status):
      let hint =
        status == 403 || status == 405
        ? "; does it allow CONNECT to this host and port?"
        : status >= 502 ? "; can it reach that host?" : ""
      return "the proxy \(proxy) opens no tunnel to \(target): \(status) "
        + "\(HTTPStatus.phrase(status))\(hint)"
    case .malformed(let proxy, let problem):
      return "the proxy \(proxy) does not answer as a proxy does: \(problem)"
    case .silent(let proxy, let target, let seconds):
      return "the proxy \(proxy) did not open a tunnel to \(target) within \(seconds) s"
    case .closedEarly(let proxy, let target):
      return "the proxy \(proxy) closed the connection instead of opening a tunnel to \(target)"
    }
  }

  private static func wish(_ scheme: String?) -> String {
    guard let scheme else { return "" }
    return scheme.lowercased() == "basic" ? ", Basic" : ", \(scheme), and we speak Basic only"
  }
}
