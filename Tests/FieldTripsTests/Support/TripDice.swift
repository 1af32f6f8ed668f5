import FieldTrips
import Randomness

/// A random sequence that its seed repeats, for properties over many lives of a trip.
struct TripDice: RandomNumberGenerator {
  private var generator: SplitMix64

  init(seed: UInt64) { generator = SplitMix64(seed: seed) }

  mutating func next() -> UInt64 { generator.next() }

  mutating func roll(_ range: Range<Int>) -> Int { Int.random(in: range, using: &self) }

  mutating func happens(oneIn sides: Int) -> Bool { roll(0..<sides) == 0 }
}
