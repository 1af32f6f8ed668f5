internal import Glibc

/// Files that servers are started with.
package enum StageFile {
  package static func write(_ text: String, to path: String) throws {
    guard let file = fopen(path, "w") else { throw StageError("\(path) cannot be written.") }
    defer { fclose(file) }
    let bytes = Array(text.utf8)
    guard fwrite(bytes, 1, bytes.count, file) == bytes.count else {
      throw StageError("\(path) cannot be written whole.")
    }
  }
}
