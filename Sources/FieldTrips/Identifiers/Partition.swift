/// A fixed slice of all trips, owned by one node at a time.
///
/// The rule that places a trip never changes, because what Redis holds was placed by it: 64-bit
/// FNV-1a over the sixteen bytes of the trip's UUID, its two halves folded by exclusive or, modulo
/// the number of partitions. The fold is there because FNV's lowest bits mix poorly.
package struct Partition: Hashable, Comparable, Sendable {
  /// How many partitions a service has unless it was set up otherwise.
  package static let defaultCount = 256

  /// 0 ..< the number of partitions.
  package let number: Int

  package init(number: Int) {
    precondition(number >= 0, "a partition has a number of 0 or more, not \(number)")
    self.number = number
  }

  /// The partition of a trip among `count`, which must not change while Redis holds trips.
  package init(of trip: TripID, count: Int = Partition.defaultCount) {
    precondition(count > 0, "a service has at least one partition, not \(count)")
    var hash: UInt64 = 0xCBF2_9CE4_8422_2325
    for index in 0..<16 {
      hash = (hash ^ UInt64(trip.byte(index))) &* 0x0000_0100_0000_01B3
    }
    let folded = UInt32(truncatingIfNeeded: hash >> 32) ^ UInt32(truncatingIfNeeded: hash)
    number = Int(folded % UInt32(count))
  }

  /// The partition that holds what callers name by `text`, among `count`.
  package init(ofName text: String, count: Int = Partition.defaultCount) {
    precondition(count > 0, "a service has at least one partition, not \(count)")
    var hash: UInt64 = 0xCBF2_9CE4_8422_2325
    for byte in text.utf8 { hash = (hash ^ UInt64(byte)) &* 0x0000_0100_0000_01B3 }
    let folded = UInt32(truncatingIfNeeded: hash >> 32) ^ UInt32(truncatingIfNeeded: hash)
    number = Int(folded % UInt32(count))
  }

  package static func < (left: Partition, right: Partition) -> Bool { left.number < right.number }
}

extension Partition: CustomStringConvertible {
  /// `p042`: the hash tag of this partition's keys, with at least three digits.
  package var description: String {
    let digits = String(number)
    return "p" + String(repeating: "0", count: max(0, 3 - digits.count)) + digits
  }
}

extension TripID {
  /// This trip's partition among the default number.
  package var partition: Partition { Partition(of: self) }
}
