internal import Glibc

/// An IP address, as numbers.
package struct IPAddress: Hashable, Sendable {
  /// 4 or 16, the most significant first. An IPv4 address inside an IPv6 one (`::ffff:a.b.c.d`) is
  /// the four, since that is where a connection to it goes.
  package let bytes: [UInt8]

  /// - Parameter bytes: 4 or 16; anything else is no address.
  package init?(bytes: [UInt8]) {
    switch bytes.count {
    case 4: self.bytes = bytes
    case 16: self.bytes = bytes.starts(with: Self.mapped) ? Array(bytes.suffix(4)) : bytes
    default: return nil
    }
  }

  /// Reads `192.0.2.1` or `2001:db8::1`: the full forms only, no octal and nothing left out.
  package init?(_ text: String) {
    var bytes = [UInt8](repeating: 0, count: 16)
    if inet_pton(AF_INET, text, &bytes) == 1 {
      self.init(bytes: Array(bytes.prefix(4)))
    } else if inet_pton(AF_INET6, text, &bytes) == 1 {
      self.init(bytes: bytes)
    } else {
      return nil
    }
  }

  private static let mapped = [UInt8](repeating: 0, count: 10) + [0xFF, 0xFF]

  /// Whether it is somebody's on the Internet at large: no private, loopback, link-local, shared,
  /// multicast, documentation, benchmark or reserved address, nor one by which a cloud serves its
  /// own machines.
  ///
  /// - SeeAlso: IANA's special-purpose address registries for IPv4 and IPv6 (RFC 6890).
  package var isPublic: Bool {
    if bytes.count == 4 { return !Self.special4.contains { $0.contains(self) } }
    // By a gateway to IPv4 (RFC 6052) one reaches the address within.
    if Self.gateway.contains(self) {
      return IPAddress(bytes: Array(bytes.suffix(4)))?.isPublic == true
    }
    return Self.global6.contains(self) && !Self.special6.contains { $0.contains(self) }
  }

  private static let special4 = IPRange.list([
    "0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12",
    "192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "192.168.0.0/16", "198.18.0.0/15",
    "198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/4", "240.0.0.0/4",
    // Azure's own services for a machine.
    "168.63.129.16/32",
  ])
  private static let gateway = IPRange(trusted: "64:ff9b::/96")
  private static let global6 = IPRange(trusted: "2000::/3")
  /// Protocol assignments with Teredo, 6to4, which hides an IPv4 address, and documentation.
  private static let special6 = IPRange.list([
    "2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20",
  ])
}

extension IPAddress: CustomStringConvertible {
  package var description: String {
    if bytes.count == 4 { return bytes.map(String.init).joined(separator: ".") }
    var text = [CChar](repeating: 0, count: Int(INET6_ADDRSTRLEN))
    guard inet_ntop(AF_INET6, bytes, &text, socklen_t(text.count)) != nil else { return "unknown" }
    return text.withUnsafeBufferPointer { String(cString: $0.baseAddress.unsafelyUnwrapped) }
  }
}

/// Addresses that begin alike: `10.0.0.0/8`.
package struct IPRange: Hashable, Sendable, CustomStringConvertible {
  private let address: IPAddress
  private let bits: Int

  /// Reads an address with the number of bits that count, or without for one address alone.
  package init?(_ text: String) {
    let parts = text.split(separator: "/", omittingEmptySubsequences: false)
    guard (1...2).contains(parts.count), let address = IPAddress(String(parts[0])) else {
      return nil
    }
    let most = address.bytes.count * 8
    guard let bits = parts.count == 2 ? Int(parts[1]) : most, (0...most).contains(bits) else {
      return nil
    }
    self.address = address
    self.bits = bits
  }

  fileprivate init(trusted text: String) {
    guard let range = IPRange(text) else { preconditionFailure("\(text) is no range") }
    self = range
  }

  fileprivate static func list(_ texts: [String]) -> [IPRange] { texts.map(IPRange.init(trusted:)) }

  package func contains(_ other: IPAddress) -> Bool {
    guard address.bytes.count == other.bytes.count else { return false }
    for (index, (own, their)) in zip(address.bytes, other.bytes).enumerated() {
      let left = bits - index * 8
      guard left > 0 else { return true }
      let mask = left >= 8 ? UInt8.max : UInt8.max << UInt8(8 - left)
      if own & mask != their & mask { return false }
    }
    return true
  }

  package var description: String { "\(address)/\(bits)" }
}
