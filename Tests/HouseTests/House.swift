import Foundation

/// The checkout that these tests were built from, as files.
enum House {
  static let root = URL(fileURLWithPath: #filePath)
    .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

  /// Every file that belongs to the project, by its path from the root: those that version
  /// control tracks or would, or all but the build's where there is no version control.
  static let files: [String] = (tracked() ?? walked()).sorted()

  private static func tracked() -> [String]? {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments = [
      "git", "-C", root.path, "ls-files", "-z", "--cached", "--others", "--exclude-standard",
    ]
    let output = Pipe()
    process.standardOutput = output
    process.standardError = FileHandle.nullDevice
    guard (try? process.run()) != nil,
      let data = try? output.fileHandleForReading.readToEnd()
    else { return nil }
    process.waitUntilExit()
    guard process.terminationStatus == 0 else { return nil }
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
      for line in try House.lines(of: file) {
        guard let match = line.prefixMatch(of: pattern) else { continue }
        found.insert(ImportLine(module: String(match.output.1), file: file))
      }
    }
    return found
  }
}
