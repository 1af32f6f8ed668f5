import Foundation
import Testing

/// Runs the built `fieldcast` as a person does.
@Suite struct `The command line` {
  private struct Answer {
    var status: Int32
    var output: String
    var errors: String
  }

  private func fieldcast(_ words: String..., input: String = "") throws -> Answer {
    let folder = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
      .deletingLastPathComponent()
    let process = Process()
    process.executableURL = folder.appendingPathComponent("fieldcast")
    process.arguments = words
    process.environment = [:]
    let (stdin, stdout, stderr) = (Pipe(), Pipe(), Pipe())
    process.standardInput = stdin
    process.standardOutput = stdout
    process.standardError = stderr
    try process.run()
    // All inputs and outputs here are smaller than a pipe's 64 KB, so nobody waits for us.
    try stdin.fileHandleForWriting.write(contentsOf: Data(input.utf8))
    try stdin.fileHandleForWriting.close()
    let output = try stdout.fileHandleForReading.readToEnd() ?? Data()
    let errors = try stderr.fileHandleForReading.readToEnd() ?? Data()
    process.waitUntilExit()
    return Answer(
      status: process.terminationStatus, output: String(decoding: output, as: UTF8.self),
      errors: String(decoding: errors, as: UTF8.self))
  }

  @Test func `shows its commands when it is told none`() throws {
    let answer = try fieldcast()
    #expect(answer.status == 64)
    #expect(answer.errors.contains("fieldcast COMMAND [OPTIONS]"))
    let help = try fieldcast("--help")
    #expect(help.status == 0)
    #expect(help.output == answer.errors)
    #expect(help.errors.isEmpty)
  }

  @Test func `writes no colours into a pipe`() throws {
    #expect(!(try fieldcast("demo", "--help").output.contains("\u{1B}")))
    #expect(!(try fieldcast("dmeo").errors.contains("\u{1B}")))
  }

  @Test func `names the nearest word it knows`() throws {
    let command = try fieldcast("dmeo")
    #expect(command.status == 64)
    #expect(
      command.errors
        == "fieldcast: there is no command dmeo. Did you mean fieldcast demo?\n"
        + "See: fieldcast --help\n")
    let option = try fieldcast("trace", "generate", "--sed", "3")
    #expect(option.status == 64)
    #expect(
      option.errors
        == "fieldcast trace generate: there is no option --sed. Did you mean --seed?\n"
        + "See: fieldcast trace generate --help\n")
  }

  @Test func `generates, describes and imports`() throws {
    let trace = try fieldcast("trace", "generate", "--seed", "3")
    #expect(trace.status == 0)
    #expect(trace.output.hasPrefix("offset_s,observer,place\n0,o1,Place 1\n"))
    let described = try fieldcast("trace", "describe", "-", input: trace.output)
    #expect(described.status == 0)
    #expect(
      described.output.hasPrefix("standard input, read from a trace file\n  captures    250\n"))
    let json = try fieldcast("trace", "describe", "--json", "-", input: trace.output)
    #expect(json.output.contains("\"captures\":250,"))

    let export = """
      observed_on_string,user_login,place_guess,latitude
      2021-05-01 10:00,anna,"Lobau, Wien, Österreich",48.1
      2021-05-01 10:05,anna,"Lobau, Wien, Österreich",48.1

      """
    let imported = try fieldcast("trace", "import", "-", input: export)
    #expect(imported.status == 0)
    #expect(imported.output == "offset_s,observer,place\n0,o1,Wien\n300,o1,Wien\n")
    #expect(
      imported.errors
        == "2021-05-01: 2 captures in 5 min 00 s of 2 rows; left out: 0 of other days, "
        + "0 without a time of day.\n")
  }

  @Test func `tells bad input from input that is not there`() throws {
    let bad = try fieldcast("trace", "describe", "-", input: "offset_s,observer,place\nx,o1,P\n")
    #expect(bad.status == 65)
    #expect(bad.errors.contains("Line 2: the offset \"x\" is no number of seconds"))
    let absent = try fieldcast("trace", "describe", "no-such-file.csv")
    #expect(absent.status == 66)
    #expect(absent.errors.contains("no-such-file.csv cannot be read: No such file or directory."))
    let unwritable = try fieldcast("trace", "generate", "--output", "no-such-folder/day.csv")
    #expect(unwritable.status == 73)
  }
}
