import Glibc
import Transport

/// What the processes of a benchmark tell each other, in files of a folder of this user's alone.
struct Scratch {
  private let folder: TemporaryFolder

  init() throws(BenchFailure) {
    do throws(SystemError) {
      folder = try TemporaryFolder(for: "bench")
    } catch {
      throw BenchFailure("No folder can be made in /tmp: \(error).")
    }
  }

  var path: String { folder.path }

  func remove() { folder.remove() }

  func file(_ name: String) -> String { "\(path)/\(name)" }

  func write(_ bytes: [UInt8], as name: String) throws(BenchFailure) {
    let descriptor = open(file(name), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
    let written = bytes.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
    guard descriptor >= 0, close(descriptor) == 0, written == bytes.count else {
      throw BenchFailure("\(file(name)) cannot be written.")
    }
  }

  /// A small file's text; nil when it is not there.
  static func read(_ path: String) -> String? {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { return nil }
    defer { close(descriptor) }
    var bytes = [UInt8](repeating: 0, count: 1 << 16)
    var count = 0
    while count < bytes.count {
      let more = bytes.withUnsafeMutableBytes { buffer in
        Glibc.read(descriptor, buffer.baseAddress.map { $0 + count }, buffer.count - count)
      }
      guard more > 0 else { break }
      count += more
    }
    return String(decoding: bytes[..<count], as: UTF8.self)
  }

  func makeFolder(_ name: String) { mkdir(file(name), 0o700) }
}
