import Glibc

/// A folder of this user's alone, for what processes tell each other.
struct Scratch {
  let path: String

  init() throws(BenchFailure) {
    var template = Array("/tmp/fieldcast-bench-XXXXXX".utf8CString)
    guard mkdtemp(&template) != nil else {
      throw BenchFailure("No folder can be made in /tmp: \(String(cString: strerror(errno))).")
    }
    path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }

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

  func remove() { Self.remove(path) }

  private static func remove(_ path: String) {
    guard let listing = opendir(path) else { return }
    while let entry = readdir(listing) {
      let name = withUnsafePointer(to: &entry.pointee.d_name) { name in
        name.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
      }
      if name == "." || name == ".." { continue }
      let inner = path + "/" + name
      if entry.pointee.d_type == UInt8(DT_DIR) { remove(inner) } else { unlink(inner) }
    }
    closedir(listing)
    rmdir(path)
  }
}

/// Why a benchmark cannot be run, for the person who wants it.
package struct BenchFailure: Error, Sendable, CustomStringConvertible {
  package let description: String

  package init(_ description: String) { self.description = description }
}
