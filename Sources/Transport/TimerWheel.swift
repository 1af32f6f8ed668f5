package import Clocks

/// Names one entry of a ``TimerWheel``; a stale one names nothing.
package struct LoopTimer: Hashable, Sendable {
  fileprivate let index: Int32
  fileprivate let generation: UInt32
}

/// Timers in a hierarchy of rings, so that arming and cancelling cost the same for ten or a
/// million of them.
///
/// The grain is one millisecond, rounded up: a timer never fires early. Ring 0 holds the next 256
/// milliseconds one by one, ring 1 the next 256 × 256 in slots of 256, and so on up to 49 days;
/// what lies further waits in the last slot and is sorted in again when that slot is reached.
package struct TimerWheel<Payload>: ~Copyable {
  private struct Entry {
    var payload: Payload?
    var tick: UInt64 = 0
    var next: Int32 = -1
    var previous: Int32 = -1
    var slot: Int32 = -1
    var generation: UInt32 = 0
  }

  private static var slotsPerRing: Int { 256 }
  private static var rings: Int { 4 }

  private var entries: [Entry] = []
  private var free: [Int32] = []
  private var heads: [Int32]
  /// One bit a slot that is not empty: finding the next due slot is a few bit scans.
  private var occupied: [UInt64]
  private var tick: UInt64
  package private(set) var count = 0

  package init(now: Moment) {
    heads = Array(repeating: -1, count: Self.rings * Self.slotsPerRing)
    occupied = Array(repeating: 0, count: Self.rings * Self.slotsPerRing / 64)
    tick = Self.tick(atOrBefore: now)
  }

  package mutating func schedule(at moment: Moment, _ payload: Payload) -> LoopTimer {
    let index: Int32
    if let reused = free.popLast() {
      index = reused
    } else {
      index = Int32(entries.count)
      entries.append(Entry())
    }
    entries[Int(index)].payload = payload
    entries[Int(index)].tick = max(Self.tick(atOrAfter: moment), tick + 1)
    insert(index)
    count += 1
    return LoopTimer(index: index, generation: entries[Int(index)].generation)
  }

  /// Returns what was armed, or nil when the timer fired or was cancelled before.
  @discardableResult
  package mutating func cancel(_ timer: LoopTimer) -> Payload? {
    let index = Int(timer.index)
    guard index < entries.count, entries[index].generation == timer.generation,
      entries[index].payload != nil
    else { return nil }
    unlink(timer.index)
    return release(timer.index)
  }

  /// When ``expire(at:into:)`` has something to do next: never later than the earliest timer.
  package var nextExpiry: Moment? {
    if count == 0 { return nil }
    var earliest = UInt64.max
    for ring in 0..<Self.rings {
      let shift = UInt64(8 * ring)
      let position = Int((tick >> shift) & 255)
      guard let distance = distanceToOccupied(ring: ring, after: position) else { continue }
      let slotTick = ((tick >> shift) + UInt64(distance)) << shift
      earliest = min(earliest, max(slotTick, tick + 1))
    }
    return earliest == .max ? nil : Moment(nanoseconds: Int64(earliest) * 1_000_000)
  }

  /// Appends the payloads of all timers due at `now`, in the order of their milliseconds.
  package mutating func expire(at now: Moment, into due: inout [Payload]) {
    let target = Self.tick(atOrBefore: now)
    while tick < target {
      guard count > 0, let next = nextExpiry else {
        tick = target
        return
      }
      let nextTick = UInt64(next.nanoseconds / 1_000_000)
      if nextTick > target {
        tick = target
        // Slots of the higher rings that we stand in now must not be stepped over.
        cascade()
        return
      }
      tick = nextTick
      cascade()
      takeSlot(into: &due)
    }
  }

  private mutating func takeSlot(into due: inout [Payload]) {
    let slot = Int(tick & 255)
    while heads[slot] >= 0 {
      let index = heads[slot]
      unlink(index)
      if let payload = release(index) { due.append(payload) }
    }
  }

  /// Moves the entries of the higher slots that begin at this tick into the finer rings.
  private mutating func cascade() {
    for ring in (1..<Self.rings).reversed() {
      let shift = UInt64(8 * ring)
      let slot = ring * Self.slotsPerRing + Int((tick >> shift) & 255)
      var index = heads[slot]
      guard index >= 0 else { continue }
      heads[slot] = -1
      occupied[slot / 64] &= ~(1 << UInt64(slot % 64))
      while index >= 0 {
        let next = entries[Int(index)].next
        insert(index)
        index = next
      }
    }
  }

  private mutating func insert(_ index: Int32) {
    let due = entries[Int(index)].tick
    var ring = 0
    while ring < Self.rings - 1, (due >> UInt64(8 * (ring + 1))) != (tick >> UInt64(8 * (ring + 1)))
    {
      ring += 1
    }
    let shift = UInt64(8 * ring)
    let farthest = (tick >> shift) + 255
    let slot = ring * Self.slotsPerRing + Int(min(due >> shift, farthest) & 255)
    let head = heads[slot]
    entries[Int(index)].next = head
    entries[Int(index)].previous = -1
    entries[Int(index)].slot = Int32(slot)
    if head >= 0 { entries[Int(head)].previous = index }
    heads[slot] = index
    occupied[slot / 64] |= 1 << UInt64(slot % 64)
  }

  private mutating func unlink(_ index: Int32) {
    let entry = entries[Int(index)]
    let slot = Int(entry.slot)
    if entry.previous >= 0 {
      entries[Int(entry.previous)].next = entry.next
    } else {
      heads[slot] = entry.next
      if entry.next < 0 { occupied[slot / 64] &= ~(1 << UInt64(slot % 64)) }
    }
    if entry.next >= 0 { entries[Int(entry.next)].previous = entry.previous }
  }

  private mutating func release(_ index: Int32) -> Payload? {
    let payload = entries[Int(index)].payload
    entries[Int(index)].payload = nil
    entries[Int(index)].generation &+= 1
    free.append(index)
    count -= 1
    return payload
  }

  /// Slots from `position` to the next occupied one, 1...256; ring 0's present slot is the last.
  private func distanceToOccupied(ring: Int, after position: Int) -> Int? {
    let base = ring * Self.slotsPerRing / 64
    for step in 0...4 {
      let from = (position + 1) % 256
      let word = (from / 64 + step) % 4
      var bits = occupied[base + word]
      if step == 0 { bits &= ~0 << UInt64(from % 64) }
      if step == 4 { bits &= from % 64 == 0 ? 0 : (1 << UInt64(from % 64)) - 1 }
      if bits != 0 {
        let slot = word * 64 + bits.trailingZeroBitCount
        let distance = (slot - position + 256) % 256
        return distance == 0 ? 256 : distance
      }
    }
    return nil
  }

  private static func tick(atOrBefore moment: Moment) -> UInt64 {
    UInt64(max(0, moment.nanoseconds)) / 1_000_000
  }

  private static func tick(atOrAfter moment: Moment) -> UInt64 {
    let nanoseconds = UInt64(max(0, moment.nanoseconds))
    return nanoseconds / 1_000_000 + (nanoseconds % 1_000_000 == 0 ? 0 : 1)
  }
}
