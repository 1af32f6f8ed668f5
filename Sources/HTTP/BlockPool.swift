import CNghttp2

/// Memory for one nghttp2 session, which makes and drops some six small blocks a request.
///
/// Blocks of up to a kilobyte come from free lists by size and go back to them, without a lock and
/// without the general allocator's slow path, which a hundred open requests run into. A session
/// holds what it held at its peak until it ends. Larger blocks are the system's.
///
/// One thread uses it, the one that uses the session.
final class BlockPool {
  private struct State {
    var chunks: [UnsafeMutableRawPointer] = []
    /// Where the present chunk's unused part begins, and how much it is.
    var unused: UnsafeMutableRawPointer?
    var unusedBytes = 0
  }

  private static let step = 16
  private static let largestClass = 64
  private static let chunkBytes = 32_768
  /// In front of each block: its size class, 0 for a large one, and then a large one's size.
  private static let headerBytes = 16

  private let state = Pinned(State())
  /// The first free block of each size class; each block's first word points to the next.
  private let free: UnsafeMutablePointer<UnsafeMutableRawPointer?>

  init() {
    free = .allocate(capacity: Self.largestClass + 1)
    free.initialize(repeating: nil, count: Self.largestClass + 1)
  }

  deinit {
    for chunk in state.value.chunks { chunk.deallocate() }
    free.deallocate()
  }

  /// What nghttp2 is told. The pool must outlive the session.
  var callbacks: nghttp2_mem {
    nghttp2_mem(
      mem_user_data: Unmanaged.passUnretained(self).toOpaque(), malloc: takeBlock,
      free: { block, pool in withPool(pool) { $0.giveBack(block) } }, calloc: takeZeroedBlock,
      realloc: { block, size, pool in withPool(pool) { $0.resize(block, to: size) } })
  }

  fileprivate func take(_ size: Int) -> UnsafeMutableRawPointer? {
    let sizeClass = (size + Self.step - 1) / Self.step
    guard sizeClass <= Self.largestClass else { return takeLarge(size) }
    if let block = free[sizeClass] {
      free[sizeClass] = block.load(as: UnsafeMutableRawPointer?.self)
      return block
    }
    let bytes = Self.headerBytes + max(sizeClass, 1) * Self.step
    if state.value.unusedBytes < bytes { addChunk() }
    guard let start = state.value.unused else { return nil }
    state.value.unused = start + bytes
    state.value.unusedBytes -= bytes
    start.storeBytes(of: max(sizeClass, 1), as: Int.self)
    return start + Self.headerBytes
  }

  fileprivate func giveBack(_ block: UnsafeMutableRawPointer?) {
    guard let block else { return }
    let sizeClass = (block - Self.headerBytes).load(as: Int.self)
    guard sizeClass > 0 else { return (block - Self.headerBytes).deallocate() }
    block.storeBytes(of: free[sizeClass], as: UnsafeMutableRawPointer?.self)
    free[sizeClass] = block
  }

  fileprivate func resize(
    _ block: UnsafeMutableRawPointer?, to size: Int
  ) -> UnsafeMutableRawPointer? {
    guard let block else { return take(size) }
    let header = block - Self.headerBytes
    let sizeClass = header.load(as: Int.self)
    let held = sizeClass > 0 ? sizeClass * Self.step : header.load(fromByteOffset: 8, as: Int.self)
    if size <= held { return block }
    guard let larger = take(size) else { return nil }
    larger.copyMemory(from: block, byteCount: held)
    giveBack(block)
    return larger
  }

  private func takeLarge(_ size: Int) -> UnsafeMutableRawPointer {
    let start = UnsafeMutableRawPointer.allocate(
      byteCount: Self.headerBytes + size, alignment: Self.step)
    start.storeBytes(of: 0, as: Int.self)
    start.storeBytes(of: size, toByteOffset: 8, as: Int.self)
    return start + Self.headerBytes
  }

  private func addChunk() {
    let chunk = UnsafeMutableRawPointer.allocate(
      byteCount: Self.chunkBytes, alignment: Self.step)
    state.value.chunks.append(chunk)
    state.value.unused = chunk
    state.value.unusedBytes = Self.chunkBytes
  }
}

private let takeBlock: @convention(c) (Int, UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? =
  { size, pool in withPool(pool) { $0.take(size) } }

private let takeZeroedBlock:
  @convention(c) (Int, Int, UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? = {
    count, size, pool in
    let (bytes, isTooMuch) = count.multipliedReportingOverflow(by: size)
    guard !isTooMuch, let block = withPool(pool, { $0.take(bytes) }) else { return nil }
    block.initializeMemory(as: UInt8.self, repeating: 0, count: bytes)
    return block
  }

@inline(__always)
private func withPool<Result>(
  _ pointer: UnsafeMutableRawPointer?, _ body: (BlockPool) -> Result
) -> Result {
  guard let pointer else { preconditionFailure("nghttp2 lost its memory pool") }
  return Unmanaged<BlockPool>.fromOpaque(pointer)._withUnsafeGuaranteedRef(body)
}
