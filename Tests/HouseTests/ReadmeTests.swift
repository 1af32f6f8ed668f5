import Foundation
import Testing

@testable import fieldcast

@Suite struct `The README` {
  /// Every line of its code blocks that starts one of our commands.
  private func commandLines() throws -> [[String]] {
    var isCode = false
    var found: [[String]] = []
    let text = try House.text(of: "README.md").replacing("\\\n", with: " ")
    for line in text.split(separator: "\n", omittingEmptySubsequences: false) {
      if line.hasPrefix("```") {
        isCode.toggle()
        continue
      }
      guard isCode else { continue }
      let command = line.prefix { $0 != "#" }.split(separator: "|").map {
        $0.split(separator: " ").map(String.init).drop { $0 == "$" || $0.contains("=") }
      }
      found += command.map { Array($0) }.filter {
        $0.first.map { $0 == "fieldcast" || $0.hasSuffix("/fieldcast") } ?? false
      }
    }
    return found
  }

  @Test func `shows commands that exist, with options that exist`() throws {
    for words in try commandLines() {
      let rest = Array(words.dropFirst())
      let line = words.joined(separator: " ")
      let command = CommandLineInterface.commands.first { rest.starts(with: $0.help.words) }
      guard let command else {
        Issue.record("no such command: \(line)")
        continue
      }
      let parser = ArgumentParser(help: command.help, environment: [:])
      #expect(throws: Never.self, "\(line)") {
        _ = try parser.parse(Array(rest.dropFirst(command.help.words.count)))
      }
    }
  }

  @Test func `opens with the two commands that set it up and test it`() throws {
    let text = try House.text(of: "README.md")
    let up = try #require(text.range(of: "deploy/up"))
    let test = try #require(text.range(of: "deploy/test"))
    #expect(text.distance(from: text.startIndex, to: up.lowerBound) < 1_500)
    #expect(text.distance(from: text.startIndex, to: test.lowerBound) < 1_500)
  }

  @Test func `names settings that exist`() throws {
    var known = Set(
      CommandLineInterface.commands.flatMap { $0.help.options.compactMap(\.environment) })
    // Read by the demo and the tests, and no option's.
    known.insert("FIELDCAST_TRACES")
    let text = try House.text(of: "README.md")
    for match in text.matches(of: /FIELDCAST_[A-Z_]+/) {
      #expect(known.contains(String(match.output)), "\(match.output)")
    }
  }

  @Test func `points at files that are there`() throws {
    let text = try House.text(of: "README.md")
    for match in text.matches(of: /`((?:Sources|Tests|deploy|\.ci)\/[^`\s]*)`/) {
      let path = House.root.appendingPathComponent(String(match.output.1)).path
      #expect(FileManager.default.fileExists(atPath: path), "\(match.output.1)")
    }
  }
}
