import Foundation
import Testing

@Suite struct `The house` {
  /// What the toolchain brings; pure rooms have none of it.
  private let system: Set<String> = [
    "Foundation", "Glibc", "Synchronization", "Testing", "FoundationNetworking",
    // Apple's, which the kit for apps meets; their stand-ins share a part of Foundation.
    "ActivityKit", "AppIntents", "SwiftUI", "WidgetKit", "LocalizedStrings",
  ]

  @Test func `has the rooms that its plan names, and no other`() throws {
    let plan = try HousePlan()
    #expect(plan.rooms.count > 20)
    let folders = Set(
      House.files.compactMap { file -> String? in
        let parts = file.split(separator: "/")
        return parts.count > 2 && ["Sources", "Tests"].contains(parts[0]) ? String(parts[1]) : nil
      })
    #expect(folders == Set(plan.rooms.map(\.name)))
  }

  @Test func `imports only what its plan allows`() throws {
    let plan = try HousePlan()
    for room in plan.rooms {
      let folder = (room.isTest ? "Tests/" : "Sources/") + room.name
      for line in try ImportLine.all(in: folder) {
        let isAllowed =
          room.dependencies.contains(line.module) || system.contains(line.module)
        #expect(isAllowed, "\(line.file) imports \(line.module), which is not in Package.swift")
      }
    }
  }

  @Test func `keeps its pure rooms pure`() throws {
    let plan = try HousePlan()
    let pure = Set(plan.rooms.filter(\.isPure).map(\.name))
    #expect(pure.isSuperset(of: ["Clocks", "JSON", "FieldTrips"]))
    for name in pure {
      for line in try ImportLine.all(in: "Sources/" + name) {
        // The client library is for apps: dates and URLs come from Foundation there.
        let isForApps = name == "FieldTripKit" && system.contains(line.module)
        #expect(
          pure.contains(line.module) || isForApps, "\(line.file) imports \(line.module)")
      }
    }
  }

  @Test func `keeps Foundation out of the rooms that work per message`() throws {
    for room in ["Transport", "Crypto", "HTTP", "Redis", "APNs", "APNsSimulator", "TripStore"] {
      for line in try ImportLine.all(in: "Sources/" + room) {
        #expect(line.module != "Foundation", "\(line.file)")
      }
    }
  }

  @Test func `shares no APNs code between client and simulator`() throws {
    let plan = try HousePlan()
    #expect(plan.room("APNsSimulator")?.dependencies.contains("APNs") == false)
    #expect(plan.room("APNs")?.dependencies.contains("APNsSimulator") == false)
  }

  @Test func `has files that one can read in one go`() throws {
    for file in House.swiftFiles {
      let count = try House.lines(of: file).count
      #expect(count <= 600, "\(file) has \(count) lines; split it by subject")
    }
  }

  @Test func `says what everything is that its libraries publish`() throws {
    for file in House.swiftFiles where file.hasPrefix("Sources/APNs/") {
      let lines = try House.lines(of: file).map { $0.drop { $0 == " " } }
      for (index, line) in lines.enumerated() where line.hasPrefix("public ") {
        // What a protocol asks for has its words there.
        let isKnown = [
          "import ", "var description", "nonisolated var unownedExecutor", "let type",
          "func encoded() ", "init() {}",
        ].contains { line.dropFirst("public ".count).hasPrefix($0) }
        var before = index - 1
        while before >= 0, lines[before].hasPrefix("@") { before -= 1 }
        let hasWords = before >= 0 && lines[before].hasPrefix("///")
        #expect(isKnown || hasWords, "\(file):\(index + 1) \(line)")
      }
    }
  }

  @Test func `leaves nothing unfinished or unsafe in its sources`() throws {
    let banned = ["try" + "!", "TO" + "DO", "FIX" + "ME", "XX" + "X:"]
    for file in House.swiftFiles where file.hasPrefix("Sources/") {
      for word in banned {
        for line in try House.lines(of: file, holding: word) {
          Issue.record("\(file):\(line.number) has \(word)")
        }
      }
    }
  }

  @Test func `says why where it vouches for safety itself`() throws {
    for file in House.swiftFiles where file.hasPrefix("Sources/") {
      for word in ["@unchecked Sendable", "nonisolated(unsafe)"] {
        for line in try House.lines(of: file, holding: word)
        where !line.text.drop(while: { $0 == " " }).hasPrefix("//") {
          let before = try House.lines(of: file)[max(0, line.number - 13)..<line.number]
          let isExplained = before.contains { $0.contains("//") }
          #expect(isExplained, "\(file):\(line.number) needs a sentence saying why it is right")
        }
      }
    }
  }

  @Test func `has scripts that can be run as they are`() throws {
    for file in House.files where try isScript(file) {
      #expect(
        FileManager.default.isExecutableFile(
          atPath: House.root.appendingPathComponent(file).path), "\(file)")
      #expect(try House.text(of: file).contains("set -euo pipefail"), "\(file)")
    }
    for file in ["deploy/up", "deploy/test", "deploy/sanitize", ".ci/run"] {
      #expect(try isScript(file), "\(file)")
    }
  }

  @Test func `has nothing at its top but what belongs there`() {
    let top = Set(House.files.compactMap { $0.split(separator: "/").first.map(String.init) })
    let plain = top.filter { !$0.hasPrefix(".") }
    #expect(plain.isSubset(of: ["Package.swift", "Sources", "Tests", "deploy", "README.md"]))
  }

  /// A path of the machine that a file was written on works nowhere else, and the address of a
  /// package mirror tells strangers about a network.
  @Test func `names no place but its own`() throws {
    let paths = ["/wo" + "rk/", "/ho" + "me/", "/Us" + "ers/", "/tmp/p" + "lan", "/tmp/w" + "t/"]
    let hosts: Set<String> = [
      "localhost", "127.0.0.1", "[::1]", "developer.apple.com", "api.push.apple.com",
      "api.sandbox.push.apple.com", "api-manage-broadcast.push.apple.com",
      "api-manage-broadcast.sandbox.push.apple.com", "swift.org", "www.swift.org",
      "fieldcast", "www.rfc-editor.org", "www.w3.org", "json-schema.org", "spec.openapis.org",
    ]
    for file in House.files where file != "Tests/HouseTests/HouseTests.swift" {
      for path in paths {
        for line in try House.lines(of: file, holding: path) {
          Issue.record("\(file):\(line.number) names \(path)")
        }
      }
      for line in try House.lines(of: file, holding: "://") {
        for match in line.text.matches(of: /https?:\/\/([A-Za-z0-9.\-\[:\]]*[A-Za-z0-9\]])/) {
          let host = String(match.output.1.replacing(/:[0-9]+$/, with: ""))
          // Tests of parsers make do with a letter.
          let isReserved =
            host.count == 1 || host.hasSuffix(".example") || host.hasPrefix("example.")
            || host.hasSuffix(".example.com") || host.hasSuffix(".test")
          #expect(hosts.contains(host) || isReserved, "\(file):\(line.number) names \(host)")
        }
      }
    }
  }

  private func isScript(_ file: String) throws -> Bool {
    let handle = try FileHandle(forReadingFrom: House.root.appendingPathComponent(file))
    defer { try? handle.close() }
    return try handle.read(upToCount: 2) == Data("#!".utf8)
  }
}
