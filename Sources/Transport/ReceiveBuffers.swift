/// Room for one read, encrypted and plain, shared by all streams of a loop: the loop reads from one
/// stream at a time, and what a handler wants to keep it copies.
final class ReceiveBuffers {
  /// Four TLS records: enough that a busy connection is read with one system call a turn.
  static let size = 65_536 + 512

  let encrypted = UnsafeMutableRawBufferPointer.allocate(byteCount: size, alignment: 16)
  let plain = UnsafeMutableRawBufferPointer.allocate(byteCount: size, alignment: 16)

  deinit {
    encrypted.deallocate()
    plain.deallocate()
  }
}
