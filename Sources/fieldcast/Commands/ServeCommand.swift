internal import FieldcastServer
internal import Glibc
internal import Transport

/// `fieldcast serve`: one node of the service.
package enum ServeCommand: Command {
  static let logJSON = Option<Bool>.flag(
    "log-json", environment: "FIELDCAST_LOG_JSON", help: "Logs as JSON, one object a line.")
  static let logLevel = Option<String>.choice(
    "log-level", among: ServiceLog.Level.allCases.map(\.name), default: "info",
    environment: "FIELDCAST_LOG_LEVEL", help: "The least that is logged, to standard error.")

  static let options =
    [ConfigurationFile.option.spec] + ServiceOptions.all + [logJSON.spec, logLevel.spec]

  package static let help = CommandHelp(
    "serve", summary: "Runs the service",
    discussion: """
      Serves REST, listens for notes on Redis, and publishes to APNs. Without a Redis URL it \
      starts a private redis-server in the data folder and ends it again. SIGTERM and SIGINT end \
      the service in order: nothing that was taken in is lost. SIGHUP reads REST's certificate \
      again, or ends the service if it came from a terminal that was closed. Under systemd \
      (Type=notify) it says when it is ready, and that it lives.
      """,
    options: options,
    examples: [
      "fieldcast serve --bundle-id com.example.trips --environment development "
        + "--team-id ABCDE12345 --key-id FGHIJ67890 --key-file AuthKey.p8",
      "fieldcast serve --redis redis://127.0.0.1:6379 --listen 0.0.0.0:8080",
      "fieldcast serve --config deploy/fieldcast.json",
    ],
    statuses: [.unavailable, .configuration, .noInput])

  package static func run(_ arguments: ParsedArguments) async throws -> ExitStatus {
    let signals = try Signals.catchAll()
    let configuration = try ServiceOptions.configuration(from: arguments)
    let level = ServiceLog.Level.allCases.first { $0.name == arguments[logLevel] } ?? .info
    let log = ServiceLog.standardError(
      minimum: level, format: arguments[logJSON] ? .json : .text)
    let loop = try EventLoop(name: "service")
    let stop = StopSignal()
    let starting = Task(executorPreference: loop.tasks) {
      try await Service.start(configuration, log: log, on: loop)
    }
    let running = Lock<Service?>(nil)
    let isAtTerminal = isatty(STDIN_FILENO) == 1
    Signals.deliver(from: signals, on: loop) { number in
      if number == SIGHUP, !isAtTerminal {
        running.withLock { $0 }?.assumeIsolated { $0.reload() }
        return
      }
      stop.fire()
      starting.cancel()
    }
    let service: Service
    do {
      service = try await starting.value
      running.withLock { $0 = service }
    } catch let failure as StartFailure {
      // Told to stop while it started: what it waited for does not matter any more.
      if stop.hasFired { return .success }
      throw CommandFailure(.unavailable, failure.description)
    }
    let manager = ServiceManager()
    tell(log) { () throws(SystemError) in try manager?.isReady() }
    await withTaskGroup(of: Void.self) { group in
      group.addTask(executorPreference: loop.tasks) { await service.run() }
      if let manager, let interval = manager.watchdogInterval {
        // On the loop that does all the work: if it stands still, the manager hears nothing.
        group.addTask(executorPreference: loop.tasks) {
          while (try? await loop.sleep(for: interval)) != nil {
            tell(log) { () throws(SystemError) in try manager.isAlive() }
          }
        }
      }
      await stop.wait()
      tell(log) { () throws(SystemError) in try manager?.isStopping() }
      await service.drain()
      group.cancelAll()
    }
    return .success
  }

  private static func tell(_ log: ServiceLog, _ news: () throws(SystemError) -> Void) {
    do { try news() } catch {
      log.warning("the service manager cannot be told", ["reason": "\(error)"])
    }
  }
}
