/// A Redis server's URL, taken apart:
/// `redis://[[user]:password@]host[:port][/database]`, `rediss://` for TLS, or
/// `unix:///path/to/socket[?db=database]`.
///
/// User and password may be percent-encoded. Error messages never repeat them.
package struct RedisURL: Sendable, Equatable {
  package enum Place: Sendable, Equatable {
    case tcp(host: String, port: Int)
    case unix(path: String)
  }

  package let place: Place
  package let usesTLS: Bool
  package let user: String?
  package let password: String?
  package let database: Int

  package init(parsing text: String) throws(RedisError) {
    guard let mark = Self.range(of: "://", in: text) else { throw Self.unknownScheme(nil) }
    let scheme = text[..<mark.lowerBound].lowercased()
    let rest = text[mark.upperBound...]
    switch scheme {
    case "redis", "rediss": try self.init(tcp: rest, usesTLS: scheme == "rediss")
    case "unix": try self.init(unix: rest)
    default: throw Self.unknownScheme(scheme)
    }
  }

  private init(tcp rest: Substring, usesTLS: Bool) throws(RedisError) {
    var rest = rest
    (user, password) = try Self.takeCredentials(from: &rest)
    database = try Self.takeDatabase(from: &rest)
    place = try Self.address(rest)
    self.usesTLS = usesTLS
  }

  private init(unix rest: Substring) throws(RedisError) {
    let parts = rest.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
    guard let path = parts.first, path.hasPrefix("/"), path.count > 1 else {
      throw .invalidSetting(
        "The Redis URL needs the socket's whole path: unix:///run/redis/redis.sock.")
    }
    if parts.count > 1 {
      guard parts[1].hasPrefix("db=") else {
        throw .invalidSetting("A unix:// Redis URL takes only ?db=<number> after the path.")
      }
      database = try Self.database(parts[1].dropFirst(3))
    } else {
      database = 0
    }
    place = .unix(path: try Self.decoded(path))
    usesTLS = false
    user = nil
    password = nil
  }

  private static func takeCredentials(
    from rest: inout Substring
  ) throws(RedisError) -> (user: String?, password: String?) {
    // The last one: a password that was not encoded may hold an @ itself.
    guard let at = rest.lastIndex(of: "@") else { return (nil, nil) }
    let credentials = rest[..<at]
    rest = rest[rest.index(after: at)...]
    guard let colon = credentials.firstIndex(of: ":") else {
      throw .invalidSetting(
        "The Redis URL has a user without a password: write redis://user:password@host.")
    }
    let user = try decoded(credentials[..<colon])
    let password = try decoded(credentials[credentials.index(after: colon)...])
    guard !password.isEmpty else {
      throw .invalidSetting("The Redis URL has an empty password.")
    }
    return (user.isEmpty ? nil : user, password)
  }

  private static func takeDatabase(from rest: inout Substring) throws(RedisError) -> Int {
    guard !rest.contains("?"), !rest.contains("#") else {
      throw .invalidSetting(
        "The Redis URL takes no options: redis://[user:password@]host[:port][/database].")
    }
    guard let slash = rest.firstIndex(of: "/") else { return 0 }
    let path = rest[rest.index(after: slash)...]
    rest = rest[..<slash]
    return path.isEmpty ? 0 : try database(path)
  }

  private static func database(_ text: Substring) throws(RedisError) -> Int {
    guard let number = Int(text), number >= 0, !text.hasPrefix("+") else {
      throw .invalidSetting("The Redis URL's database is \"\(text)\", and should be a number.")
    }
    return number
  }

  private static func address(_ text: Substring) throws(RedisError) -> Place {
    guard !text.contains(",") else {
      throw .invalidSetting("The Redis URL names several servers, and should name one.")
    }
    var host = text
    var port = 6379
    let bracket = text.lastIndex(of: "]")
    if let colon = text.lastIndex(of: ":"), bracket.map({ $0 < colon }) ?? true {
      let digits = text[text.index(after: colon)...]
      guard let number = Int(digits), (1...65_535).contains(number) else {
        throw .invalidSetting(
          "The Redis URL's port is \"\(digits)\", and should be a number from 1 to 65535.")
      }
      port = number
      host = text[..<colon]
    }
    if host.hasPrefix("["), host.hasSuffix("]") { host = host.dropFirst().dropLast() }
    guard !host.isEmpty else {
      throw .invalidSetting("The Redis URL names no host: redis://host:6379.")
    }
    guard !host.contains(":") || bracket != nil else {
      throw .invalidSetting(
        "An IPv6 address in a Redis URL stands in brackets: redis://[::1]:6379.")
    }
    return .tcp(host: String(host), port: port)
  }

  private static func unknownScheme(_ scheme: String?) -> RedisError {
    let found = scheme.map { "begins with \($0)://" } ?? "has no scheme"
    return .invalidSetting(
      "The Redis URL \(found); accepted are redis://, rediss:// (TLS) and unix:// (a socket).")
  }

  private static func decoded(_ text: Substring) throws(RedisError) -> String {
    var bytes: [UInt8] = []
    var rest = text.utf8[...]
    while let byte = rest.popFirst() {
      guard byte == UInt8(ascii: "%") else {
        bytes.append(byte)
        continue
      }
      guard let high = hexDigit(rest.popFirst()), let low = hexDigit(rest.popFirst()) else {
        throw .invalidSetting("The Redis URL has a % that two hexadecimal digits do not follow.")
      }
      bytes.append(high << 4 | low)
    }
    guard let decoded = String(validating: bytes, as: UTF8.self) else {
      throw .invalidSetting("The Redis URL's percent-encoded text is not UTF-8.")
    }
    return decoded
  }

  private static func hexDigit(_ byte: UInt8?) -> UInt8? {
    switch byte {
    case .some(let digit) where (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(digit):
      digit - UInt8(ascii: "0")
    case .some(let digit) where (UInt8(ascii: "a")...UInt8(ascii: "f")).contains(digit):
      digit - UInt8(ascii: "a") + 10
    case .some(let digit) where (UInt8(ascii: "A")...UInt8(ascii: "F")).contains(digit):
      digit - UInt8(ascii: "A") + 10
    default: nil
    }
  }

  private static func range(of mark: String, in text: String) -> Range<String.Index>? {
    var start = text.startIndex
    while start < text.endIndex {
      if text[start...].hasPrefix(mark) {
        return start..<text.index(start, offsetBy: mark.count)
      }
      start = text.index(after: start)
    }
    return nil
  }
}
