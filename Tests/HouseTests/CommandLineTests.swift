import Testing

@testable import fieldcast

@Suite struct `The command line's parser` {
  private static let speed = Option<Double>.number(
    "speed", in: 1...100, unit: "times", default: 20, environment: "TEST_SPEED", help: "How fast.")
  private static let count = Option<Int?>.integer("count", in: 0...9, unit: "", help: "How many.")
  private static let shape = Option<String>.choice(
    "shape", among: ["outing", "day"], default: "day", help: "Which.")
  private static let once = Option<Bool>.flag("once", environment: "TEST_ONCE", help: "Once.")
  private static let help = CommandHelp(
    "walk", summary: "Walks", discussion: "",
    positionals: [
      CommandHelp.Positional("FROM", help: "Where it begins."),
      CommandHelp.Positional("TO", required: false, help: "Where it ends."),
    ],
    options: [speed.spec, count.spec, shape.spec, once.spec], examples: ["fieldcast walk here"])

  private func parse(
    _ words: String..., environment: [String: String] = [:]
  ) throws -> ParsedArguments? {
    try ArgumentParser(help: Self.help, environment: environment).parse(words)
  }

  private func expectRefusal(
    _ message: String, _ words: String..., environment: [String: String] = [:],
    sourceLocation: SourceLocation = #_sourceLocation
  ) {
    let error = #expect(throws: UsageError.self, sourceLocation: sourceLocation) {
      try ArgumentParser(help: Self.help, environment: environment).parse(words)
    }
    #expect(error?.message == message, sourceLocation: sourceLocation)
  }

  @Test func `takes values apart from their option, or joined to it`() throws {
    let found = try #require(try parse("here", "--speed", "3.5", "--shape=outing", "there"))
    #expect(found[Self.speed] == 3.5)
    #expect(found[Self.shape] == "outing")
    #expect(found.positionals == ["here", "there"])
  }

  @Test func `has a default for what nobody says`() throws {
    let found = try #require(try parse("here"))
    #expect(found[Self.speed] == 20)
    #expect(found[Self.count] == nil)
    #expect(found[Self.once] == false)
    #expect(!found.isGiven(Self.speed))
  }

  @Test func `takes the environment where the command line says nothing`() throws {
    let environment = ["TEST_SPEED": "7", "TEST_ONCE": "yes"]
    let found = try #require(try parse("here", environment: environment))
    #expect(found[Self.speed] == 7)
    #expect(found[Self.once])
    let overruled = try #require(try parse("here", "--speed", "8", environment: environment))
    #expect(overruled[Self.speed] == 8)
    let unfilled = try #require(try parse("here", environment: ["TEST_SPEED": ""]))
    #expect(unfilled[Self.speed] == 20)
  }

  @Test func `ends options at two dashes, and takes one dash as a name`() throws {
    let found = try #require(try parse("--once", "--", "--speed", "-"))
    #expect(found.positionals == ["--speed", "-"])
    #expect(try parse("-")?.positionals == ["-"])
  }

  @Test func `lets a flag be said twice, and a value once`() throws {
    #expect(try parse("here", "--once", "--once")?[Self.once] == true)
    expectRefusal("--speed is given twice.", "here", "--speed", "2", "--speed", "3")
  }

  @Test func `asks for help rather than for arguments`() throws {
    #expect(try parse("--help") == nil)
    #expect(try parse("-h") == nil)
  }

  @Test func `says what it expected`() {
    expectRefusal("--speed 0: expected 1...100 times.", "here", "--speed", "0")
    expectRefusal("--speed nan: expected 1...100 times.", "here", "--speed", "nan")
    expectRefusal("--count 10: expected 0...9.", "here", "--count", "10")
    expectRefusal("--shape hill: expected one of outing, day.", "here", "--shape", "hill")
    expectRefusal("--speed needs a value: expected 1...100 times.", "here", "--speed")
    expectRefusal("--once takes no value.", "here", "--once=1")
    expectRefusal("FROM is missing: Where it begins.", "--once")
    expectRefusal("three is one argument too many.", "one", "two", "three")
    expectRefusal("there is no option --sped. Did you mean --speed?", "here", "--sped", "3")
    expectRefusal("there is no option --zebra.", "here", "--zebra")
    expectRefusal("there is no option -x.", "here", "-x")
    expectRefusal(
      "TEST_SPEED=fast: expected 1...100 times.", "here", environment: ["TEST_SPEED": "fast"])
    expectRefusal("TEST_ONCE=maybe: expected 1 or 0.", "here", environment: ["TEST_ONCE": "maybe"])
  }

  @Test func `counts what lies between two spellings`() {
    #expect(Spelling.distance("speed", "speed") == 0)
    #expect(Spelling.distance("", "speed") == 5)
    #expect(Spelling.distance("seped", "speed") == 1)
    #expect(Spelling.distance("kitten", "sitting") == 3)
    #expect(Spelling.nearest(to: "dmeo", among: ["serve", "demo"]) == "demo")
    #expect(Spelling.nearest(to: "simul", among: ["serve", "simulate"]) == "simulate")
    #expect(Spelling.nearest(to: "xyzzy", among: ["serve", "demo"]) == nil)
  }
}

@Suite struct `The commands` {
  @Test func `have examples that their own parser takes`() throws {
    for command in CommandLineInterface.commands {
      for example in command.help.examples {
        for part in example.split(separator: "|") {
          let words = part.split(separator: " ").map(String.init).dropFirst()
          let meant = try #require(
            CommandLineInterface.commands.first { words.starts(with: $0.help.words) }, "\(example)")
          let rest = Array(words.dropFirst(meant.help.words.count))
          #expect(throws: Never.self, "\(example)") {
            var parser = ArgumentParser(help: meant.help, environment: [:])
            parser.readFile = { _ in Array("{}".utf8) }
            _ = try parser.parse(rest)
          }
        }
      }
    }
  }

  @Test func `have help texts that fit a terminal and end in an example`() {
    for command in CommandLineInterface.commands {
      let text = HelpText(style: Style(coloured: false)).help(of: command.help)
      for line in text.split(separator: "\n") {
        #expect(line.count <= 80, "\(command.help.name): \(line)")
      }
      #expect(text.contains("\nExample"))
      #expect(text.hasSuffix("\n"))
    }
  }

  @Test func `name their options once, and begin with different words`() {
    let commands = CommandLineInterface.commands
    #expect(Set(commands.map { $0.help.name }).count == commands.count)
    for command in commands {
      let names = command.help.options.map(\.name)
      #expect(Set(names).count == names.count, "\(command.help.name)")
    }
  }
}

@Suite struct `The coalescing bench` {
  @Test func `takes budgets whose tokens take whole seconds`() throws {
    let budgets = try BenchCoalescingCommand.budgets(from: "30, 60,120,60")
    #expect(budgets.map(\.perHour) == [30, 60, 120])
    for wrong in ["", "60,", "59", "sixty", "3600", "-60"] {
      let failure = #expect(throws: CommandFailure.self) {
        try BenchCoalescingCommand.budgets(from: wrong)
      }
      #expect(failure?.status == .usage)
    }
  }
}
