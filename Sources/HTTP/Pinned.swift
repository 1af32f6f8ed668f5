/// A value at an address that does not move, used by one thread.
///
/// C callbacks are given the address as user data. Reading and writing go past Swift's run-time
/// check for overlapping accesses, which cost a tenth of a request's instructions here; the room
/// keeps the rule that the check would prove by never calling into C, nor out to others, while it
/// changes such a value.
final class Pinned<Value> {
  let address: UnsafeMutablePointer<Value>

  init(_ value: Value) {
    address = .allocate(capacity: 1)
    address.initialize(to: value)
  }

  deinit {
    address.deinitialize(count: 1)
    address.deallocate()
  }

  var value: Value {
    @inline(__always) _read { yield address.pointee }
    @inline(__always) _modify { yield &address.pointee }
  }
}
