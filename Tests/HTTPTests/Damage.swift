import Foundation
import Randomness

/// Random damage to good bytes, whose seed is the whole story of a failure.
enum Damage {
  /// As many stories as the environment asks for; the tests' own take some seconds.
  static let seeds =
    0..<(ProcessInfo.processInfo.environment["FIELDCAST_FUZZ_SEEDS"].flatMap { Int($0) } ?? 400)

  /// Bytes that mean something in a head.
  private static let telling: [UInt8] = [0x0a, 0x0d, 0x20, 0x3a, 0x00, 0xff]

  /// One to four changes: a byte or a bit altered, one taken out, one put in, some repeated.
  static func damaged(_ good: [UInt8], by random: inout SplitMix64) -> [UInt8] {
    var bytes = good
    for _ in 0..<Int.random(in: 1...4, using: &random) where bytes.count > 1 {
      let place = Int.random(in: 0..<bytes.count, using: &random)
      switch Int.random(in: 0..<5, using: &random) {
      case 0: bytes[place] = .random(in: 0...255, using: &random)
      case 1: bytes[place] ^= 1 << UInt8.random(in: 0..<8, using: &random)
      case 2: bytes.remove(at: place)
      case 3: bytes.insert(telling[Int.random(in: 0..<6, using: &random)], at: place)
      default:
        let end = min(place + Int.random(in: 1...30, using: &random), bytes.count)
        bytes.insert(
          contentsOf: bytes[place..<end], at: Int.random(in: 0...bytes.count, using: &random))
      }
    }
    return bytes
  }

  /// The same bytes as they may come from a socket.
  static func pieces(
    of bytes: [UInt8], upTo limit: Int, _ random: inout SplitMix64
  ) -> [[UInt8]] {
    var rest = bytes[...]
    var pieces: [[UInt8]] = []
    while !rest.isEmpty {
      let count = min(rest.count, Int.random(in: 1...limit, using: &random))
      pieces.append(Array(rest.prefix(count)))
      rest = rest.dropFirst(count)
    }
    return pieces
  }
}
