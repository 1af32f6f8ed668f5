internal import Glibc

/// A new folder in /tmp that only this user can enter.
///
/// Not in `TMPDIR`: some are too long for the path of a socket.
package struct TemporaryFolder: Sendable {
  /// Absolute.
  package let path: String

  /// - Parameter purpose: a word of its name, for the person who finds it.
  /// - Throws: ``SystemError`` when /tmp cannot be written to.
  package init(for purpose: String) throws(SystemError) {
    let unique = String(repeating: "X", count: 6)
    var template = Array("/tmp/fieldcast-\(purpose)-\(unique)".utf8CString)
    guard mkdtemp(&template) != nil else { throw SystemError(call: "mkdtemp", code: errno) }
    path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }

  package func remove() { Self.remove(path) }

  /// Removes a folder with all that is in it; links are removed, not followed.
  package static func remove(_ path: String) {
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
