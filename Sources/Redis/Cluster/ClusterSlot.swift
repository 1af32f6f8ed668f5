/// Which of a cluster's slots a key lies in: a hash of its tag, the part between the first `{` and
/// the next `}`, or of all of it when there is no such part.
package enum ClusterSlot {
  package static let count = 16_384

  /// CRC-16 with the polynomial 0x1021 (XMODEM), modulo the number of slots.
  package static func of(_ key: some Collection<UInt8>) -> Int {
    var crc: UInt16 = 0
    for byte in tag(of: key) {
      crc = crc << 8 ^ table[Int(UInt8(truncatingIfNeeded: crc >> 8) ^ byte)]
    }
    return Int(crc) & (count - 1)
  }

  package static func of(_ key: String) -> Int { of(key.utf8) }

  private static func tag<Key: Collection<UInt8>>(of key: Key) -> Key.SubSequence {
    guard let open = key.firstIndex(of: UInt8(ascii: "{")) else { return key[...] }
    let rest = key[key.index(after: open)...]
    guard let close = rest.firstIndex(of: UInt8(ascii: "}")), close != rest.startIndex else {
      return key[...]
    }
    return rest[..<close]
  }

  private static let table: [UInt16] = (0..<256).map { byte in
    var crc = UInt16(byte) << 8
    for _ in 0..<8 { crc = crc & 0x8000 == 0 ? crc << 1 : crc << 1 ^ 0x1021 }
    return crc
  }
}
