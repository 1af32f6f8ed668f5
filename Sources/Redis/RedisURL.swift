/// A Redis URL, taken apart. One server:
///
/// - `redis://[[user]:password@]host[:port][/database]`
/// - `unix:///path/to/socket[?db=database]`
///
/// The primary that Sentinels name, by any number of them:
///
/// - `redis-sentinel://[[user]:password@]host[:port],host[:port]/name[/database]`, with
///   `?sentinel-user=…&sentinel-password=…` where the Sentinels themselves want a password
///
/// A cluster, by some of its nodes:
///
/// - `redis-cluster://[[user]:password@]host[:port],host[:port]`
///
/// With `rediss` in place of `redis` every connection is TLS. Users, passwords and names may be
/// percent-encoded. Error messages never repeat user and password, nor what may
/// be a password because the host was forgotten.
package struct RedisURL: Sendable, Equatable {
  package enum Place: Sendable, Equatable {
    case tcp(host: String, port: Int)
    case unix(path: String)
    /// - Parameter name: which of the primaries that the Sentinels watch.
    case sentinel([RedisAddress], name: String)
    case cluster([RedisAddress])
  }

  package let place: Place
  package let usesTLS: Bool
  package private(set) var user: String?
  package private(set) var password: String?
  package private(set) var database = 0
  package private(set) var sentinelUser: String?
  package private(set) var sentinelPassword: String?

  package init(parsing text: String) throws(RedisError) {
    guard let mark = Self.range(of: "://", in: text) else { throw Self.unknownScheme(nil) }
    let scheme = text[..<mark.lowerBound].lowercased()
    let rest = text[mark.upperBound...]
    let usesTLS = scheme.hasPrefix("rediss")
    switch scheme {
    case "redis", "rediss": try self.init(tcp: rest, usesTLS: usesTLS)
    case "redis-sentinel", "rediss-sentinel": try self.init(sentinel: rest, usesTLS: usesTLS)
    case "redis-cluster", "rediss-cluster": try self.init(cluster: rest, usesTLS: usesTLS)
    case "unix": try self.init(unix: rest)
    default: throw Self.unknownScheme(scheme)
    }
  }

  private init(tcp rest: Substring, usesTLS: Bool) throws(RedisError) {
    var rest = rest
    let (user, password) = try Self.takeCredentials(from: &rest)
    let database = try Self.takeDatabase(from: &rest)
    guard !rest.contains(",") else {
      throw .invalidSetting(
        "The Redis URL names several servers: write redis-cluster:// for a cluster, or "
          + "redis-sentinel:// for Sentinels.")
    }
    let address = try Self.address(rest, defaultPort: 6_379)
    place = .tcp(host: address.host, port: address.port)
    self.usesTLS = usesTLS
    (self.user, self.password, self.database) = (user, password, database)
  }

  private init(sentinel rest: Substring, usesTLS: Bool) throws(RedisError) {
    var rest = rest
    let options = try Self.takeOptions(from: &rest)
    let (user, password) = try Self.takeCredentials(from: &rest)
    let parts = rest.split(separator: "/", omittingEmptySubsequences: false)
    guard (2...3).contains(parts.count), !parts[1].isEmpty else {
      throw .invalidSetting(
        "The Redis URL needs the name of the primary that the Sentinels watch: "
          + "redis-sentinel://host:26379,host:26379/mymaster.")
    }
    place = .sentinel(
      try Self.addresses(parts[0], defaultPort: 26_379), name: try Self.decoded(parts[1]))
    self.usesTLS = usesTLS
    (self.user, self.password) = (user, password)
    if parts.count == 3 { database = try Self.database(parts[2]) }
    (sentinelUser, sentinelPassword) = (options["sentinel-user"], options["sentinel-password"])
    guard sentinelUser == nil || sentinelPassword != nil else {
      throw .invalidSetting("The Redis URL has a sentinel-user without a sentinel-password.")
    }
  }

  private init(cluster rest: Substring, usesTLS: Bool) throws(RedisError) {
    var rest = rest
    let (user, password) = try Self.takeCredentials(from: &rest)
    guard try Self.takeDatabase(from: &rest) == 0 else {
      throw .invalidSetting("A Redis cluster has one database only: its URL must name no other.")
    }
    place = .cluster(try Self.addresses(rest, defaultPort: 6_379))
    self.usesTLS = usesTLS
    (self.user, self.password) = (user, password)
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
    }
    place = .unix(path: try Self.decoded(path))
    usesTLS = false
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
      // Not repeated: where the host was forgotten it may be the end of the password.
      throw .invalidSetting(
        "The Redis URL's database should be a number: redis://user:password@host:6379/0, or "
          + "unix:///path?db=0.")
    }
    return number
  }

  /// `?name=value&name=value` of a Sentinel URL.
  private static func takeOptions(
    from rest: inout Substring
  ) throws(RedisError) -> [String: String] {
    let parts = rest.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
    guard parts.count == 2 else { return [:] }
    rest = parts[0]
    var options: [String: String] = [:]
    for option in parts[1].split(separator: "&") {
      let sides = option.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      let name = String(sides[0])
      guard sides.count == 2, ["sentinel-user", "sentinel-password"].contains(name) else {
        throw .invalidSetting(
          "A redis-sentinel:// URL takes only ?sentinel-user= and &sentinel-password=.")
      }
      options[name] = try decoded(sides[1])
    }
    return options
  }

  private static func addresses(
    _ text: Substring, defaultPort: Int
  ) throws(RedisError) -> [RedisAddress] {
    var addresses: [RedisAddress] = []
    for part in text.split(separator: ",", omittingEmptySubsequences: false) {
      let address = try address(part, defaultPort: defaultPort)
      if !addresses.contains(address) { addresses.append(address) }
    }
    return addresses
  }

  private static func address(
    _ text: Substring, defaultPort: Int
  ) throws(RedisError) -> RedisAddress {
    var host = text
    var port = defaultPort
    let bracket = text.lastIndex(of: "]")
    if let colon = text.lastIndex(of: ":"), bracket.map({ $0 < colon }) ?? true {
      let digits = text[text.index(after: colon)...]
      guard let number = Int(digits), (1...65_535).contains(number) else {
        throw .invalidSetting(
          // Not repeated: where the host was forgotten it is the password.
          "The Redis URL's port should be a number from 1 to 65535, and a password stands before a "
            + "host: redis://user:password@host:6379.")
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
    return RedisAddress(host: String(host), port: port)
  }

  private static func unknownScheme(_ scheme: String?) -> RedisError {
    let found = scheme.map { "begins with \($0)://" } ?? "has no scheme"
    return .invalidSetting(
      "The Redis URL \(found); accepted are redis://, redis-sentinel://, redis-cluster://, each "
        + "with rediss for TLS, and unix:// (a socket).")
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
