import Foundation
import Testing
import Transport

/// The kit's code for iOS, type-checked against stand-ins of Apple's frameworks: what the stand-ins
/// declare is what the frameworks declare, as far as the kit meets it.
@Suite struct `The kit's code for iOS` {
  @Test(.timeLimit(.minutes(5)))
  func `type-checks against Apple's interfaces, as the README's does, and wrong calls do not`()
    async throws
  {
    let workshop = try Workshop()
    defer { workshop.close() }
    try await workshop.buildStandIns()
    let kit = try await workshop.compile(
      try KitFiles.swift(in: "Sources/FieldTripKit"), as: "FieldTripKit",
      Workshop.kitSettings + ["-emit-module-path", workshop.path("FieldTripKit.swiftmodule")])
    try #require(kit.errors.isEmpty, "\(kit.text)")

    async let snippets = workshop.compile(
      try readmeFiles(workshop) + [KitFiles.standIns + "/Session.swift"], as: "Snippets",
      Workshop.appSettings)
    for name in ["WrongCalls.swift", "WrongSharing.swift"] {
      let file = KitFiles.standIns + "/" + name
      let result = try await workshop.compile([file], as: "Wrong", Workshop.appSettings)
      let marked = try KitFiles.markedLines(of: file)
      #expect(!marked.isEmpty)
      #expect(result.errorLines(in: name) == marked, "\(result.text)")
    }
    let checked = try await snippets
    #expect(checked.errors.isEmpty, "\(checked.text)")
  }

  /// Each Swift block of the README's part for apps, as a file of one app.
  private func readmeFiles(_ workshop: Workshop) throws -> [String] {
    let text = try String(contentsOfFile: KitFiles.root + "/README.md", encoding: .utf8)
    let start = try #require(text.range(of: "\n## The iOS side\n"))
    let rest = text[start.upperBound...]
    let section = rest[..<(rest.range(of: "\n## ")?.lowerBound ?? rest.endIndex)]
    let blocks = section.matches(of: /```swift\n(.*?)```/.dotMatchesNewlines()).map(\.output.1)
    try #require(blocks.count >= 3)
    return try blocks.enumerated().map { index, block in
      let file = workshop.path("Snippet\(index).swift")
      // The app and its widgets are two programs; here they are one, and none.
      try block.replacing("@main\n", with: "").write(
        toFile: file, atomically: false, encoding: .utf8)
      return file
    }
  }
}

/// The files that are type-checked.
private enum KitFiles {
  static let root = URL(fileURLWithPath: #filePath)
    .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent().path
  static let standIns = root + "/Tests/FieldTripKitTests/StandIns"

  static func swift(in folder: String) throws -> [String] {
    let names = try #require(FileManager.default.enumerator(atPath: root + "/" + folder))
    return names.compactMap { $0 as? String }.filter { $0.hasSuffix(".swift") }.sorted()
      .map { root + "/" + folder + "/" + $0 }
  }

  /// The numbers of the lines that must be wrong.
  static func markedLines(of file: String) throws -> Set<Int> {
    let lines = try String(contentsOfFile: file, encoding: .utf8)
      .split(separator: "\n", omittingEmptySubsequences: false)
    return Set(lines.enumerated().filter { $0.element.hasSuffix("// wrong") }.map { $0.offset + 1 })
  }
}

/// Runs the compiler in a folder of its own.
private struct Workshop {
  /// As the package builds the kit.
  static let kitSettings = [
    "-swift-version", "6", "-warnings-as-errors", "-strict-memory-safety",
    "-enable-upcoming-feature", "ExistentialAny",
    "-enable-upcoming-feature", "InternalImportsByDefault",
    "-enable-upcoming-feature", "NonisolatedNonsendingByDefault",
  ]
  /// As an app with complete concurrency checking is built.
  static let appSettings = ["-swift-version", "6", "-warnings-as-errors", "-parse-as-library"]

  struct Result {
    var text: String

    var errors: [Substring] { text.split(separator: "\n").filter { $0.contains("error:") } }

    func errorLines(in file: String) -> Set<Int> {
      let pattern = /\/([A-Za-z]+\.swift):([0-9]+):[0-9]+: error:/
      return Set(
        text.matches(of: pattern).filter { $0.output.1 == file }.compactMap { Int($0.output.2) })
    }
  }

  private let folder: TemporaryFolder
  private let loop: EventLoop
  private let compiler: String

  init() throws {
    folder = try TemporaryFolder(for: "stand-ins")
    loop = try EventLoop(name: "stand-ins")
    compiler = try #require(Subprocess.executable(named: "swiftc"))
  }

  func close() {
    loop.stop()
    folder.remove()
  }

  func path(_ name: String) -> String { folder.path + "/" + name }

  /// As modules, in the order in which they import each other. The frameworks are built in Swift 5
  /// mode, and so are these.
  func buildStandIns() async throws {
    for names in [["LocalizedStrings"], ["ActivityKit", "AppIntents"], ["SwiftUI"], ["WidgetKit"]] {
      try await withThrowingTaskGroup(of: Void.self) { group in
        for name in names {
          group.addTask {
            let result = try await compile(
              [KitFiles.standIns + "/\(name).swift"], as: name,
              [
                "-swift-version", "5", "-parse-as-library", "-enable-library-evolution",
                "-emit-module-path", path(name + ".swiftmodule"),
              ])
            try #require(result.errors.isEmpty, "\(name): \(result.text)")
          }
        }
        try await group.waitForAll()
      }
    }
  }

  /// Goes as far as the passes that find data races, and makes no code.
  func compile(
    _ files: [String], as module: String, _ settings: [String]
  ) async throws -> Result {
    let output = path(UUID().uuidString + ".txt")
    let process = try await Subprocess.start(
      compiler,
      arguments: files + settings + [
        "-module-name", module, "-I", folder.path, "-emit-sil", "-Onone", "-o", "/dev/null",
        "-wmo",
      ],
      environment: ["PATH=/usr/bin:/bin", "TMPDIR=\(folder.path)", "HOME=\(folder.path)"],
      outputPath: output, on: loop)
    let status = await process.waitForExit()
    let text = try String(contentsOfFile: output, encoding: .utf8)
    // A compiler that fails without naming an error has not checked anything.
    return Result(
      text: status == 0 || text.contains("error:") ? text : "error: status \(status) \(text)")
  }
}
