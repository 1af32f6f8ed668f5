import Foundation
import Testing
import Transport

@testable import fieldcast

/// The completion script, run by the shell that it is for.
@Suite final class `Completion` {
  private let folder: TemporaryFolder
  private let loop: EventLoop
  private let completions = Completions(of: CommandLineInterface.commands.map { $0.help })

  init() throws {
    folder = try TemporaryFolder(for: "completion")
    loop = try EventLoop(name: "completion")
  }

  deinit {
    loop.stop()
    folder.remove()
  }

  /// What bash offers for the last of some words.
  private func bash(_ words: String...) async throws -> [String] {
    let script = folder.path + "/script"
    let output = folder.path + "/output"
    try? FileManager.default.removeItem(atPath: output)
    let listed = words.map { "'\($0)'" }.joined(separator: " ")
    try """
    set -u
    cd '\(folder.path)'
    \(completions.bash)
    COMP_WORDS=(fieldcast \(listed))
    COMP_CWORD=\(words.count)
    _fieldcast
    printf '%s\\n' "${COMPREPLY[@]+"${COMPREPLY[@]}"}"
    """.write(toFile: script, atomically: false, encoding: .utf8)
    let process = try await Subprocess.start(
      try #require(Subprocess.executable(named: "bash")), arguments: ["--norc", script],
      outputPath: output, on: loop)
    let status = await process.waitForExit()
    let text = try String(contentsOfFile: output, encoding: .utf8)
    #expect(status == 0, "\(text)")
    return text.split(separator: "\n").map(String.init)
  }

  private static let hasBash = Subprocess.executable(named: "bash") != nil

  @Test(.enabled(if: hasBash)) func `knows commands, also those of two words`() async throws {
    #expect(try await bash("se") == ["serve"])
    let all = try await bash("")
    let first = Set(CommandLineInterface.commands.map { $0.help.words[0] })
    #expect(Set(all) == first.union(["--help", "--version"]))
    #expect(try await bash("types", "") == ["show", "check"])
    #expect(try await bash("trips", "ex") == ["explain"])
  }

  @Test(.enabled(if: hasBash)) func `knows a command's options and no other's`() async throws {
    #expect(try await bash("serve", "--bud") == ["--budget"])
    #expect(try await bash("types", "check", "--since", "x", "--j") == ["--json"])
    #expect(try await bash("version", "--bud") == [])
  }

  @Test(.enabled(if: hasBash)) func `knows values, files, and what it cannot know`() async throws {
    #expect(try await bash("serve", "--environment", "pro") == ["production"])
    #expect(try await bash("serve", "--listen", "12") == [])
    try "".write(toFile: folder.path + "/AuthKey.p8", atomically: false, encoding: .utf8)
    #expect(try await bash("serve", "--key-file", "Auth") == ["AuthKey.p8"])
    #expect(try await bash("types", "check", "Auth") == ["AuthKey.p8"])
  }

  @Test func `names every command and option to fish and zsh as well`() {
    let lines = completions.fish.split(separator: "\n")
    for command in CommandLineInterface.commands {
      let own = lines.filter { $0.contains("\\'\(command.help.name)\\'' -l ") }
      #expect(own.count == command.help.options.count, "\(command.help.name)")
    }
    #expect(completions.zsh.hasSuffix(completions.bash))
  }
}
