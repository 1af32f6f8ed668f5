internal import Foundation

/// A file that a command reads whole.
enum InputFile {
  /// - Parameter path: `-` is the standard input.
  /// - Returns: nil when it cannot be read.
  static func bytes(at path: String) -> [UInt8]? {
    let data =
      path == "-"
      ? try? FileHandle.standardInput.readToEnd() : FileManager.default.contents(atPath: path)
    return data.map { [UInt8]($0) }
  }
}
