import Foundation
import Testing
import Transport

/// Runs the built `fieldcast` as a person does.
@Suite final class `The command line` {
  private struct Answer {
    var status: Int32
    var output: String
    var errors: String
  }

  private let folder: TemporaryFolder
  private let loop: EventLoop

  init() throws {
    folder = try TemporaryFolder(for: "command-line")
    loop = try EventLoop(name: "command-line")
  }

  private func fieldcast(_ words: String..., input: String = "") async throws -> Answer {
    let files = ["input", "output", "errors"].map { folder.path + "/" + $0 }
    try input.write(toFile: files[0], atomically: false, encoding: .utf8)
    let program = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
      .deletingLastPathComponent().appendingPathComponent("fieldcast").path
    let script = #"in=$1 out=$2 err=$3; shift 3; exec "$0" "$@" <"$in" >"$out" 2>"$err""#
    let process = try await Subprocess.start(
      "/bin/sh", arguments: ["-c", script, program] + files + words, on: loop)
    return Answer(
      status: await process.waitForExit(),
      output: try String(contentsOfFile: files[1], encoding: .utf8),
      errors: try String(contentsOfFile: files[2], encoding: .utf8))
  }

  deinit {
    loop.stop()
    folder.remove()
  }

  @Test func `shows its commands when it is told none`() async throws {
    let answer = try await fieldcast()
    #expect(answer.status == 64)
    #expect(answer.errors.contains("fieldcast COMMAND [OPTIONS]"))
    let help = try await fieldcast("--help")
    #expect(help.status == 0)
    #expect(help.output == answer.errors)
    #expect(help.errors.isEmpty)
  }

  @Test func `writes no colours into a pipe`() async throws {
    #expect(!(try await fieldcast("demo", "--help").output.contains("\u{1B}")))
    #expect(!(try await fieldcast("dmeo").errors.contains("\u{1B}")))
  }

  @Test func `names the nearest word it knows`() async throws {
    let command = try await fieldcast("dmeo")
    #expect(command.status == 64)
    #expect(
      command.errors
        == "fieldcast: there is no command dmeo. Did you mean fieldcast demo?\n"
        + "See: fieldcast --help\n")
    let option = try await fieldcast("trace", "generate", "--sed", "3")
    #expect(option.status == 64)
    #expect(
      option.errors
        == "fieldcast trace generate: there is no option --sed. Did you mean --seed?\n"
        + "See: fieldcast trace generate --help\n")
  }

  @Test func `generates, describes and imports`() async throws {
    let trace = try await fieldcast("trace", "generate", "--seed", "3")
    #expect(trace.status == 0)
    #expect(trace.output.hasPrefix("offset_s,observer,place\n0,o1,Place 1\n"))
    let described = try await fieldcast("trace", "describe", "-", input: trace.output)
    #expect(described.status == 0)
    #expect(
      described.output.hasPrefix("standard input, read from a trace file\n  captures    250\n"))
    let json = try await fieldcast("trace", "describe", "--json", "-", input: trace.output)
    #expect(json.output.contains("\"captures\":250,"))

    let export = """
      observed_on_string,user_login,place_guess,latitude
      2021-05-01 10:00,anna,"Marsh, Wien, Österreich",48.1
      2021-05-01 10:05,anna,"Marsh, Wien, Österreich",48.1

      """
    let imported = try await fieldcast("trace", "import", "-", input: export)
    #expect(imported.status == 0)
    #expect(imported.output == "offset_s,observer,place\n0,o1,Wien\n300,o1,Wien\n")
    #expect(
      imported.errors
        == "2021-05-01: 2 captures in 5 min 00 s of 2 rows; left out: 0 of other days, "
        + "0 without a time of day.\n")
  }

  @Test func `shows activity types as a file that it takes, and checks files`() async throws {
    let all = try await fieldcast("types", "show")
    #expect(all.status == 0)
    let checked = try await fieldcast("types", "check", "-", input: all.output)
    #expect(checked.status == 0)
    #expect(checked.output.hasPrefix("Good: field-trip, conversation-turn, job-progress."))
    let example = House.root.appendingPathComponent("deploy/activity-types.json").path
    let own = try await fieldcast("types", "show", "match", "--activity-types", example)
    #expect(own.output.contains(#""stand": {"type": "string", "maxBytes": 80, "optional": true,"#))
    let near = try await fieldcast("types", "show", "matsch", "--activity-types", example)
    #expect(near.status == 65)
    #expect(near.errors.contains("Did you mean match?"))

    let wrong = all.output.replacing("notesCaptured\": \"count", with: "notesCaptured\": \"cuont")
    let bad = try await fieldcast("types", "check", "-", "--json", input: wrong)
    #expect(bad.status == 1)
    #expect(bad.output.contains(#""pointer":"/types/field-trip/mapper/notesCaptured""#))
    let changed = all.output.replacing("\"answered\"]", with: "\"answered\", \"failed\"]")
    let old = folder.path + "/old.json"
    try all.output.write(toFile: old, atomically: false, encoding: .utf8)
    let since = try await fieldcast("types", "check", "-", "--since", old, input: changed)
    #expect(since.status == 1)
    #expect(
      since.output
        == "/types/conversation-turn/contentState/phase: Cards that run do not know \"failed\".\n")
    let absent = try await fieldcast("serve", "--activity-types", "no-such.json")
    #expect(absent.status == 78 || absent.status == 66, "\(absent.errors)")
  }

  @Test func `tells bad input from input that is not there`() async throws {
    let bad = try await fieldcast(
      "trace", "describe", "-", input: "offset_s,observer,place\nx,o1,P\n")
    #expect(bad.status == 65)
    #expect(bad.errors.contains("Line 2: the offset \"x\" is no number of seconds"))
    let absent = try await fieldcast("trace", "describe", "no-such-file.csv")
    #expect(absent.status == 66)
    #expect(absent.errors.contains("no-such-file.csv cannot be read: No such file or directory."))
    let unwritable = try await fieldcast("trace", "generate", "--output", "no-such-folder/day.csv")
    #expect(unwritable.status == 73)
  }
}
