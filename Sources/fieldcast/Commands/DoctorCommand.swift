internal import Clocks
internal import FieldTrips
internal import FieldcastServer
internal import JSON
internal import LoadHarness
internal import Transport

/// `fieldcast doctor`: what is wrong with what a service needs, and how to mend it.
package enum DoctorCommand: Command {
  static let json = Option<Bool>.flag("json", help: "Writes the findings as a JSON object.")
  static let patience = Option<Double>.number(
    "patience", in: 0.5...60, unit: "s", default: 10, help: "How long one answer is waited for.")

  package static let help = CommandHelp(
    "doctor", summary: "Looks for what is wrong with Redis, APNs, clocks and data",
    discussion: """
      Reads settings as `fieldcast serve` does and asks those that a service needs: Redis for its \
      version, settings, memory, rights and speed, for what it holds and who serves that; APNs for \
      the app's channels, with the key; both for their time; and a running service whether it can \
      work. Each finding says what is so, why that matters, and what mends it. It changes nothing \
      but that it leaves a provider token in Redis if there is none, as each node does. The exit \
      status is 1 when something must be changed.
      """,
    options: ServeCommand.options + [ServiceCaller.service.spec, patience.spec, json.spec],
    examples: [
      "fieldcast doctor --config deploy/fieldcast.json",
      "fieldcast doctor --redis redis://127.0.0.1:6379 --json",
    ],
    statuses: [.checkFailed], reportsProblemsItself: true)

  package static func run(_ arguments: ParsedArguments) async throws -> ExitStatus {
    var findings = arguments.problems.map { setting($0.message) }
    var apps: [AppConfiguration] = []
    var partitionCount = Partition.defaultCount
    var clock = ServiceClock()
    do throws(CommandFailure) {
      let configuration = try ServiceOptions.configuration(from: arguments)
      findings += configuration.problems().map(setting)
      apps = configuration.apps
      partitionCount = configuration.partitionCount
      clock = configuration.clock
      if findings.isEmpty {
        findings.append(
          Finding(.good, "settings", "settings", "A service starts with these settings."))
      }
    } catch {
      findings.append(setting(error.message))
    }
    let loop = try EventLoop(name: "doctor")
    defer { loop.stop() }
    let examination = Examination(
      store: ServiceOptions.store(from: arguments), apps: apps,
      partitionCount: partitionCount, clock: clock, patience: arguments.duration(of: patience),
      loop: loop)
    findings += await Task(executorPreference: loop.tasks) { await examination.findings() }.value
    findings.append(await service(arguments))
    write(findings, asJSON: arguments[json])
    return findings.contains { $0.severity == .wrong } ? .checkFailed : .success
  }

  private static func setting(_ problem: String) -> Finding {
    Finding(
      .wrong, "settings", "settings", problem, why: "The service does not start with it.",
      mend: "fieldcast config show says where each setting comes from.")
  }

  private static func service(_ arguments: ParsedArguments) async -> Finding {
    let address = arguments[ServiceCaller.service]
    let patience = arguments.duration(of: patience)
    do {
      return try await ServiceCaller.with(arguments, token: nil, scope: "admin") { caller, _ in
        _ = try await caller.call("GET", "/healthz", patience: patience)
        do throws(CommandFailure) {
          _ = try await caller.call("GET", "/readyz", patience: patience)
          return ServiceFacts.ready(address: address).finding
        } catch {
          return ServiceFacts.notReady(address: address, reason: error.message).finding
        }
      }
    } catch {
      return ServiceFacts.silent(address: address).finding
    }
  }

  // MARK: Writing

  private static func write(_ findings: [Finding], asJSON: Bool) {
    if asJSON {
      let answer: JSONValue = [
        "status": .string((findings.map(\.severity).max() ?? .good).rawValue),
        "findings": .array(findings.map(value)),
      ]
      return Terminal.output.writeLine(answer.serializedText)
    }
    let style = Terminal.output.style
    var subject = ""
    for finding in findings {
      if finding.subject != subject {
        Terminal.output.writeLine((subject.isEmpty ? "" : "\n") + style.heading(finding.subject))
        subject = finding.subject
      }
      for line in lines(of: finding, style) { Terminal.output.writeLine(line) }
    }
    let count = findings.count { $0.severity == .wrong }
    Terminal.output.writeLine(
      "\n"
        + (count == 0
          ? "Nothing must be changed."
          : "\(count) \(count == 1 ? "thing" : "things") must be changed."))
  }

  private static func value(_ finding: Finding) -> JSONValue {
    [
      "severity": .string(finding.severity.rawValue), "subject": .string(finding.subject),
      "code": .string(finding.code), "what": .string(finding.what), "why": .string(finding.why),
      "mend": .string(finding.mend),
    ]
  }

  private static func lines(of finding: Finding, _ style: Style) -> [String] {
    let word = Text.fitted(finding.severity.rawValue, columns: 9)
    let head: String =
      switch finding.severity {
      case .wrong: style.error(word)
      case .advice: style.bold(word)
      case .good, .unknown: style.faint(word)
      }
    var lines = ["  " + head + finding.what]
    guard finding.severity != .good else { return lines }
    let indent = String(repeating: " ", count: 11)
    if !finding.why.isEmpty { lines.append(indent + finding.why) }
    if !finding.mend.isEmpty { lines.append(indent + "Do: " + finding.mend) }
    return lines
  }
}
