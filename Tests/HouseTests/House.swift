import Foundation

/// The checkout that these tests were built from, as files.
enum House {
  static let root = URL(fileURLWithPath: #filePath)
    .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

  /// Every file that belongs to the project, by its path from the root: those that version
  /// control tracks or would, or all but the build's where there is no version control.
  static let files: [String] = (tracked() ?? walked()).sorted()

  private static func tracked() -> [String]? {
    let quoted = "'" + root.path.replacing("'", with: "'\\''") + "'"
    let command = "git -C \(quoted) ls-files -z --cached --others --exclude-standard 2>/dev/null"
    guard let pipe = popen(command, "re") else { return nil }
    var data: [UInt8] = []
    var part = [UInt8](repeating: 0, count: 65_536)
    while case let count = fread(&part, 1, part.count, pipe), count > 0 { data += part[..<count] }
    guard pclose(pipe) == 0 else { return nil }
    // A file that was deleted and not yet committed is still listed.
    return String(decoding: data, as: UTF8.self).split(separator: "\0").map(String.init)
      .filter { FileManager.default.fileExists(atPath: root.appendingPathComponent($0).path) }
  }

  private static func walked() -> [String] {
    let apart: Set<String> = [
      ".git", ".build", ".swiftpm", "data", "fieldcast-data", "fieldcast-simulator",
    ]
    var found: [String] = []
    var folders = [""]
    while let folder = folders.popLast() {
      let url = root.appendingPathComponent(folder)
      let names = (try? FileManager.default.contentsOfDirectory(atPath: url.path)) ?? []
      for name in names where !(folder.isEmpty && apart.contains(name)) && !name.hasSuffix(".o") {
        let path = folder.isEmpty ? name : folder + "/" + name
        if isFolder(path) { folders.append(path) } else { found.append(path) }
      }
    }
    return found
  }

  private static func isFolder(_ path: String) -> Bool {
    var isFolder: ObjCBool = false
    let exists = FileManager.default.fileExists(
      atPath: root.appendingPathComponent(path).path, isDirectory: &isFolder)
    return exists && isFolder.boolValue
  }

  static var swiftFiles: [String] { files.filter { $0.hasSuffix(".swift") } }

  static func text(of path: String) throws -> String {
    try String(contentsOf: root.appendingPathComponent(path), encoding: .utf8)
  }

  static func lines(of path: String) throws -> [Substring] {
    try text(of: path).split(separator: "\n", omittingEmptySubsequences: false)
  }

  /// The lines that hold a word, each with its number from 1. It looks at bytes: to search all
  /// files as Unicode would keep the tests that run meanwhile from the processors for half a minute.
  static func lines(of path: String, holding word: String) throws -> [(number: Int, text: String)] {
    let bytes = try Data(contentsOf: root.appendingPathComponent(path))
    let (sought, newline) = (Data(word.utf8), Data([0x0A]))
    var found: [(number: Int, text: String)] = []
    var (number, counted, from) = (1, 0, 0)
    while let hit = bytes.range(of: sought, in: from..<bytes.count) {
      let start = bytes.range(of: newline, options: .backwards, in: 0..<hit.lowerBound)?.upperBound
      let end = bytes.range(of: newline, in: hit.upperBound..<bytes.count)?.lowerBound
      number += bytes[counted..<hit.lowerBound].count { $0 == 0x0A }
      counted = hit.lowerBound
      from = end ?? bytes.count
      found.append((number, String(decoding: bytes[(start ?? 0)..<from], as: UTF8.self)))
    }
    return found
  }
}

/// What `Package.swift` says of its rooms, read from its text.
struct HousePlan {
  struct Room {
    var name: String
    var dependencies: Set<String>
    var isPure: Bool
    var isTest: Bool
  }

  let rooms: [Room]

  init() throws {
    let manifest = try House.text(of: "Package.swift")
    let pattern = /\.(target|executableTarget|testTarget)\(/
    let starts = manifest.matches(of: pattern)
    rooms = starts.indices.map { index in
      let end = index + 1 < starts.count ? starts[index + 1].range.lowerBound : manifest.endIndex
      let text = String(manifest[starts[index].range.upperBound..<end])
      let listed = text.firstMatch(of: /dependencies: \[([^\]]*)\]/)?.output.1 ?? ""
      return Room(
        name: text.firstMatch(of: /name: "(\w+)"/).map { String($0.output.1) } ?? "",
        dependencies: Set(listed.matches(of: /"(\w+)"/).map { String($0.output.1) }),
        isPure: text.contains("swiftSettings: pure"),
        isTest: starts[index].output.1 == "testTarget")
    }
  }

  func room(_ name: String) -> Room? { rooms.first { $0.name == name } }
}

/// One `import` line of a source file.
struct ImportLine: Hashable {
  var module: String
  var file: String

  /// The imports of the files of one room.
  static func all(in folder: String) throws -> Set<ImportLine> {
    let pattern =
      /^\s*(?:@\w+(?:\([^)]*\))?\s+)*(?:(?:public|package|internal|fileprivate|private)\s+)?import\s+(?:(?:struct|class|enum|protocol|func|var|let|typealias)\s+)?(\w+)/
    var found: Set<ImportLine> = []
    for file in House.swiftFiles where file.hasPrefix(folder + "/") {
      for line in try House.lines(of: file, holding: "import ") {
        guard let match = line.text.prefixMatch(of: pattern) else { continue }
        found.insert(ImportLine(module: String(match.output.1), file: file))
      }
    }
    return found
  }
}
