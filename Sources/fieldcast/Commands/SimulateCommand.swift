internal import APNsSimulator
internal import Transport

/// `fieldcast simulate`: an APNs to try against.
package enum SimulateCommand: Command {
  static let push = Option<Int>.integer(
    "push-port", in: 0...65_535, unit: "", default: 8443, environment: "FIELDCAST_SIMULATE_PUSH",
    help: "Of device pushes and broadcasts; Apple's is 443. 0 lets the system choose.")
  static let management = Option<Int>.integer(
    "management-port", in: 0...65_535, unit: "", default: 8195,
    environment: "FIELDCAST_SIMULATE_MANAGEMENT",
    help: "Of channel management; Apple's are 2195 and 2196.")
  static let folder = Option<String>.text(
    "folder", "FOLDER", default: "fieldcast-simulator",
    help: "Where the certificate to trust and the provider key are written.")
  static let bundleID = Option<String?>.text(
    "bundle-id", "ID", help: "The app that it knows. Without it, the built-in example's.")
  static let faults = Option<String?>.text(
    "faults", "SPEC", environment: "FIELDCAST_SIMULATE_FAULTS",
    help: """
      What is to go wrong, and how often: terms separated by commas, as listed below. Without it \
      nothing does.
      """)
  static let faultSeed = Option<Int?>.integer(
    "fault-seed", in: 0...Int.max, unit: "",
    help: "Draws the faults; the same number draws the same again. Without it, --seed does.")
  static let seed = Option<Int?>.integer(
    "seed", in: 0...Int.max, unit: "",
    help: """
      Draws channel IDs, tokens and delivery. Without it every run draws others; the number that \
      it took is printed.
      """)
  static let json = Option<Bool>.flag(
    "json", help: "Writes what a client needs as a JSON object.")

  package static let help = CommandHelp(
    "simulate", summary: "Runs a simulated APNs with virtual phones",
    discussion: """
      Answers on TLS as APNs does: channel management, broadcasts and device pushes, with the \
      same statuses, reasons and limits. Prints where it listens, and which certificate and key \
      to use. Ends on SIGTERM and SIGINT.
      """,
    options: [
      push.spec, management.spec, folder.spec, bundleID.spec, faults.spec, faultSeed.spec,
      seed.spec, json.spec, ServiceOptions.clock.spec,
    ],
    vocabularies: [
      CommandHelp.Vocabulary(
        "Faults", FaultText.terms.map { ("\($0.name)=\($0.example)", "\($0.help).") })
    ],
    examples: [
      "fieldcast simulate", "fieldcast simulate --push-port 0 --management-port 0 --json",
      "fieldcast simulate --faults latency=20ms..200ms,reset=1%,goaway=0.5%,stall=0.1%x5s",
      "fieldcast simulate --faults 429=2%x20,503=1%,skew=90s,token-expiry=30s --fault-seed 7",
    ],
    statuses: [.unavailable, .configuration])

  package static func run(_ arguments: ParsedArguments) async throws -> ExitStatus {
    let signals = try Signals.catchAll()
    let loop = try EventLoop(name: "simulator")
    let stop = StopSignal()
    Signals.deliver(from: signals, on: loop) { _ in stop.fire() }
    var configuration = SimulatorConfiguration()
    configuration.schemas = [.fieldTrip, .conversationTurn, .jobProgress, .expoWidgets]
    configuration.listeners.pushPort = arguments[push]
    configuration.listeners.managementPort = arguments[management]
    if let bundleID = arguments[bundleID] {
      var app = SimulatedAppSettings.fieldTrips
      app.bundleID = bundleID
      configuration.apps = [app]
    }
    configuration.seed = arguments[seed].map(UInt64.init) ?? .random(in: 0..<1_000_000_000)
    configuration.faultSeed = arguments[faultSeed].map(UInt64.init)
    do {
      configuration.faults = try FaultText.parse(arguments[faults] ?? "")
    } catch {
      throw CommandFailure(.usage, "--faults: \(error)")
    }
    let simulator: RunningSimulator
    do {
      simulator = try await Simulator.start(
        configuration, clock: try ServiceOptions.clock(from: arguments), loop: loop,
        folder: arguments[folder])
    } catch let error as SimulatorStartError {
      throw CommandFailure(.unavailable, "\(error)")
    }
    let access = simulator.access
    Terminal.output.write(
      arguments[json] ? String(decoding: access.json, as: UTF8.self) + "\n" : access.text)
    await stop.wait()
    await simulator.stop()
    return .success
  }
}
