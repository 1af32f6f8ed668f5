/// Elements at addresses that do not move, found by small numbers that are used again.
///
/// An array would do, and would ask at each of a request's dozen looks whether it is shared and
/// whether the number is in it. Copies are the same slab, so there is one; one thread uses it.
struct Slab<Element> {
  private static var chunkBits: Int { 6 }
  private static var chunkSize: Int { 1 << chunkBits }

  private let storage: Storage
  /// The storage's list of chunks, kept here to be at hand.
  private var chunks: UnsafeMutablePointer<UnsafeMutablePointer<Element>>
  private(set) var count = 0
  private var free: [Int] = []

  /// - Parameter make: an element before its first use. A slot that was used keeps what its last
  ///   user left.
  init(_ make: @escaping @autoclosure () -> Element) {
    storage = Storage(make)
    chunks = storage.chunks
  }

  /// How many numbers are in use.
  var inUse: Int { count - free.count }

  /// All numbers that were ever in use.
  var indices: Range<Int> { 0..<count }

  subscript(index: Int) -> Element {
    @inline(__always) _read { yield address(index).pointee }
    @inline(__always) nonmutating _modify { yield &address(index).pointee }
  }

  @inline(__always)
  func address(_ index: Int) -> UnsafeMutablePointer<Element> {
    assert(indices.contains(index), "slot \(index) was never used")
    return chunks[index >> Self.chunkBits] + (index & (Self.chunkSize - 1))
  }

  /// A number that is not in use.
  mutating func take() -> Int {
    if let last = free.popLast() { return last }
    reserve(count)
    return count - 1
  }

  mutating func giveBack(_ index: Int) { free.append(index) }

  /// Makes all numbers up to this one, for a slab that follows the numbers of another.
  mutating func reserve(_ index: Int) {
    while count <= index {
      storage.append()
      chunks = storage.chunks
      count += 1
    }
  }

  /// Frees the elements when the last copy of the slab is gone.
  private final class Storage {
    private let make: () -> Element
    private(set) var chunks: UnsafeMutablePointer<UnsafeMutablePointer<Element>>
    private var capacity = 16
    private var count = 0

    init(_ make: @escaping () -> Element) {
      self.make = make
      chunks = .allocate(capacity: capacity)
    }

    func append() {
      let (chunk, place) = (count >> Slab.chunkBits, count & (Slab.chunkSize - 1))
      if place == 0 {
        if chunk == capacity { grow() }
        chunks[chunk] = .allocate(capacity: Slab.chunkSize)
      }
      (chunks[chunk] + place).initialize(to: make())
      count += 1
    }

    private func grow() {
      let larger = UnsafeMutablePointer<UnsafeMutablePointer<Element>>.allocate(
        capacity: 2 * capacity)
      larger.update(from: chunks, count: capacity)
      chunks.deallocate()
      chunks = larger
      capacity *= 2
    }

    deinit {
      for start in stride(from: 0, to: count, by: Slab.chunkSize) {
        let chunk = chunks[start >> Slab.chunkBits]
        chunk.deinitialize(count: min(Slab.chunkSize, count - start))
        chunk.deallocate()
      }
      chunks.deallocate()
    }
  }
}
