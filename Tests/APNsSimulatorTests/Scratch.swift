import Glibc
import Synchronization
import Testing
import Transport

/// Files of one test run.
enum Scratch {
  static func folder() throws -> String { try TemporaryFolder(for: "simulator").path }

  private static let numbers = Atomic(0)

  static func next() -> Int { numbers.add(1, ordering: .relaxed).newValue }

  static func write(_ bytes: [UInt8], to path: String) throws {
    let file = try #require(fopen(path, "w"))
    defer { fclose(file) }
    try #require(fwrite(bytes, 1, bytes.count, file) == bytes.count)
  }

  static func read(_ path: String) throws -> String {
    let file = try #require(fopen(path, "r"))
    defer { fclose(file) }
    var bytes = [UInt8](repeating: 0, count: 65_536)
    let count = fread(&bytes, 1, bytes.count, file)
    return String(decoding: bytes[..<count], as: UTF8.self)
  }
}
