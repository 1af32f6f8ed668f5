import APNsSimulator
import Clocks
import FieldTrips
import FieldcastServer
import Foundation
import JSON
import Testing

/// What the README shows is called as it shows it, in its order.
@Suite struct `The README's calls` {
  @Test func `are answered as it says`() async throws {
    let readme = try Readme()
    let hosts = try readme.contentHosts()
    try await World.with { world in
      try await world.withService({ $0.contentHosts = hosts }) { caller in
        let phone = try await AlertPhone.add("bela", caller, world)
        // Its dates were ahead once.
        let tomorrow = DateText.format(world.clock.wall + .seconds(86_400))
        func filled(_ text: String) -> String {
          text.replacing("<hex>", with: phone.token)
            .replacing(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ/, with: tomorrow)
        }
        var variables: [String: String] = [:]
        var created = JSONValue.null
        var calls = 0
        for block in readme.blocks(in: nil) {
          for line in ShellWords.lines(of: filled(block)) {
            let words = ShellWords.words(of: line, variables)
            switch words.prefix(2) {
            case ["fieldcast", "push"], ["fieldcast", "trips"]:
              let service = ["--service", "\(caller.endpoint)"]
              let answer = try await world.run(Array(words.dropFirst()) + service)
              #expect(answer.status == 0, "\(words.joined(separator: " ")): \(answer.output)")
            case ["curl", "-s"]:
              let answer = try await call(words, caller)
              #expect((200..<300).contains(answer.status), "\(words): \(answer.text)")
              if variables["T"] == nil { created = answer.body }
              variables["T"] = variables["T"] ?? answer.body["trip"]?.string
              variables["N"] = answer.body["id"]?.string ?? variables["N"]
            default: continue
            }
            calls += 1
          }
        }
        #expect(calls >= 16, "the README has more calls than these \(calls)")
        // The one that is sent at once, to a device that was registered before.
        #expect(try await phone.shown(world).count == 1)
        let trip = try #require(variables["T"])
        for block in readme.blocks(in: "json") {
          let value = try JSONValue.parse(Array(filled(block).utf8))
          if value["source"] != nil {
            let id = try await caller.notify(filled(block))
            let read = try await caller.call("GET", "/v1/notifications/\(id)")
            #expect(read.body["state"]?.string == "scheduled", "\(read.text)")
          } else if let shown = value["trip"] {
            #expect(shown.string?.count == trip.count)
            #expect(value.shape == created.shape)
          } else if value["errors"] != nil {
            let answer = try await caller.call(
              "POST", "/v1/trips/\(trip)/members", #"{"member":"anna","membr":"anna"}"#)
            #expect(answer.body == value, "\(answer.text)")
          }
        }
      }
    }
  }

  /// Makes the call of a line `curl -s [-X METHOD] URL [-d BODY]`.
  private func call(
    _ words: [String], _ caller: TestCaller
  ) async throws -> TestCaller.Answer {
    var method: String?
    var body: String?
    var path: String?
    var rest = words.dropFirst(2)
    while let word = rest.popFirst() {
      switch word {
      case "-X": method = rest.popFirst()
      case "-d": body = rest.popFirst()
      default:
        try #require(word.hasPrefix("localhost:8080/"), "\(word)")
        path = String(word.dropFirst("localhost:8080".count))
      }
    }
    return try await caller.call(
      method ?? (body == nil ? "GET" : "POST"), try #require(path), body)
  }
}

extension JSONValue {
  /// The names of all members, by their place.
  fileprivate var shape: Set<String> {
    guard let object else { return [] }
    return object.elements.reduce(into: []) { names, member in
      names.insert(member.key)
      for name in member.value.shape { names.insert(member.key + "/" + name) }
    }
  }
}

private struct Readme {
  private let text: String

  init() throws {
    let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
      .deletingLastPathComponent().deletingLastPathComponent()
    text = try String(contentsOf: root.appendingPathComponent("README.md"), encoding: .utf8)
  }

  /// What stands between fences.
  ///
  /// - Parameter language: as the opening fence names it; nil for none.
  func blocks(in language: String?) -> [String] {
    var blocks: [String] = []
    var open: (language: String, lines: [Substring])?
    for line in text.split(separator: "\n", omittingEmptySubsequences: false) {
      if line.hasPrefix("```") {
        if let block = open, block.language == language ?? "" {
          blocks.append(block.lines.joined(separator: "\n"))
        }
        open = open == nil ? (String(line.dropFirst(3)), []) : nil
      } else {
        open?.lines.append(line)
      }
    }
    return blocks
  }

  /// The hosts that its examples fetch content from.
  func contentHosts() throws -> ContentHosts {
    var hosts: [ContentHosts.Host] = []
    for block in blocks(in: "json") {
      guard let url = try? JSONValue.parse(Array(block.utf8))["source"]?["url"]?.string else {
        continue
      }
      let known = try ContentURL(url)
      hosts.append(ContentHosts.Host(name: known.host, port: known.port, tokens: []))
    }
    return ContentHosts(hosts: hosts, addresses: [], trustFile: nil)
  }
}

/// Words as a shell makes them, as far as the README needs it.
private enum ShellWords {
  /// A newline within quotes, or behind a backslash, ends no line.
  static func lines(of block: String) -> [String] {
    var lines = [""]
    var quote: Character?
    for character in block.replacing("\\\n", with: " ") {
      if character == "\n", quote == nil {
        lines.append("")
        continue
      }
      note(character, &quote)
      lines[lines.count - 1].append(character)
    }
    return lines
  }

  /// - Parameter variables: by name; they are filled in outside of single quotes.
  static func words(of line: String, _ variables: [String: String]) -> [String] {
    var words: [String] = []
    var word: String?
    var quote: Character?
    var rest = line[...]
    while let character = rest.popFirst() {
      if quote == nil, character == "#", word == nil { break }
      if quote == nil, character == " " {
        if let word { words.append(word) }
        word = nil
      } else if note(character, &quote) {
        word = word ?? ""
      } else if character == "$", quote != "'" {
        let name = rest.prefix { $0.isLetter }
        rest = rest.dropFirst(name.count)
        word = (word ?? "") + (variables[String(name)] ?? "")
      } else {
        word = (word ?? "") + String(character)
      }
    }
    return words + (word.map { [$0] } ?? [])
  }

  /// - Returns: whether it opens or closes a quotation.
  @discardableResult
  private static func note(_ character: Character, _ quote: inout Character?) -> Bool {
    if character == quote {
      quote = nil
    } else if quote == nil, character == "'" || character == "\"" {
      quote = character
    } else {
      return false
    }
    return true
  }
}
