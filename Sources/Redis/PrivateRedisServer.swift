internal import Clocks
package import Transport

/// A `redis-server` of our own, in a folder of our own: reached by a Unix socket only, so nobody
/// else on the network or the machine can.
///
/// It ends with the process that started it, however that ends: the kernel asks it to. What it has
/// acknowledged is then on disk, up to the last second (`appendfsync everysec`).
package actor PrivateRedisServer {
  package struct Options: Sendable {
    /// Holds the data, the log, the socket and the process ID; made if it is not there, with access
    /// for this user only.
    package var folder: String
    /// The program; searched for in `PATH` when nil.
    package var executable: String?
    /// Keeps an append-only file, so that data survive. Switched off for tests.
    package var isDurable = true
    /// Also listens on this port of 127.0.0.1. For tests.
    package var port: Int?
    /// Further arguments, such as `["--requirepass", "…"]`. They can be seen by all users of the
    /// machine in its list of processes.
    package var arguments: [String] = []
    /// How long an earlier server in the folder may take to end, and ours to read its data.
    package var startDeadline: Duration = .seconds(60)
    /// Called once, with its process, when there is such an earlier server; on the loop.
    package var whenWaiting: (@Sendable (Int32) -> Void)?
    /// How long it may take to write its data at the end, before it is killed.
    package var stopDeadline: Duration = .seconds(20)

    /// Set for a folder that we made with a new name: it is removed when the server has stopped.
    fileprivate(set) var isTemporary = false

    package init(folder: String) { self.folder = folder }

    /// A server for one test: empty, in a new folder, saving nothing, gone without trace when
    /// stopped.
    package static func temporary() throws(PrivateRedisError) -> Options {
      let folder: TemporaryFolder
      do throws(SystemError) {
        folder = try TemporaryFolder(for: "redis")
      } catch {
        throw .cannotStart("No folder can be made in /tmp: \(error).")
      }
      var options = Options(folder: folder.path)
      options.isDurable = false
      options.isTemporary = true
      return options
    }
  }

  package nonisolated let options: Options
  package nonisolated let process: Subprocess
  package nonisolated let loop: EventLoop

  private init(options: Options, process: Subprocess, loop: EventLoop) {
    self.options = options
    self.process = process
    self.loop = loop
  }

  /// How to reach it.
  package nonisolated var configuration: RedisConfiguration { Self.address(in: options.folder) }

  /// How to reach the server of a folder, if one runs.
  package static func address(in folder: String) -> RedisConfiguration {
    RedisConfiguration(endpoint: .unix(path: Options(folder: folder).socketPath))
  }

  /// Starts a server and waits until it answers. If it does not, its temporary folder is removed.
  ///
  /// - Throws: ``PrivateRedisError``, whose text says what to do.
  package static func start(
    _ options: Options, on loop: EventLoop
  ) async throws(PrivateRedisError) -> PrivateRedisServer {
    do {
      return try await startServer(options, on: loop)
    } catch {
      if options.isTemporary { TemporaryFolder.remove(options.folder) }
      throw error
    }
  }

  private static func startServer(
    _ options: Options, on loop: EventLoop
  ) async throws(PrivateRedisError) -> PrivateRedisServer {
    guard options.socketPath.utf8.count <= 107 else {
      throw .pathTooLong(options.socketPath)
    }
    let executable: String
    if let named = options.executable {
      executable = named
    } else {
      executable = try findExecutable()
    }
    try Folder.make(options.folder)
    let end = MonotonicClock.now() + options.startDeadline
    try await waitForPredecessor(options, until: end, on: loop)
    let process: Subprocess
    do throws(SystemError) {
      process = try await Subprocess.start(
        executable, arguments: arguments(options), outputPath: options.logPath, on: loop)
    } catch {
      throw .cannotStart("\(executable) cannot be started: \(error).")
    }
    let server = PrivateRedisServer(options: options, process: process, loop: loop)
    try await server.waitUntilReady(until: end)
    return server
  }

  /// Ends it in order: it takes no more commands, writes what is not on disk yet, and exits.
  /// One that is not durable saves nothing.
  package func stop() async {
    if process.isRunning { await shutDown() }
    if options.isTemporary { TemporaryFolder.remove(options.folder) }
  }

  private func shutDown() async {
    // A durable server thereby writes out its append-only file, and makes no other copy.
    let command = RedisCommand("SHUTDOWN", Spread(options.isDurable ? [] : ["NOSAVE"]))
    let watchdog = Task(executorPreference: loop.tasks) { [loop, options, process] in
      try await loop.sleep(for: options.stopDeadline)
      // Not SIGTERM: the server is ending already, and would only note that it was asked twice.
      process.signal(9)
    }
    if let connection = try? await RedisConnection.connect(configuration, loop: loop) {
      // It answers by closing the connection.
      _ = try? await connection.call(command, before: MonotonicClock.now() + options.stopDeadline)
      await connection.abort()
    }
    process.terminate()
    _ = await process.waitForExit()
    watchdog.cancel()
  }

  /// Runs `body` with a server for itself alone, and stops it afterwards. For tests, in any room.
  package static func withTemporary<Value: Sendable>(
    on loop: EventLoop, port: Int? = nil, arguments: [String] = [],
    _ body: (PrivateRedisServer) async throws -> Value
  ) async throws -> Value {
    var options = try Options.temporary()
    options.port = port
    options.arguments = arguments
    let server = try await start(options, on: loop)
    do {
      let value = try await body(server)
      await server.stop()
      return value
    } catch {
      await server.stop()
      throw error
    }
  }

  private func waitUntilReady(until end: Moment) async throws(PrivateRedisError) {
    var last = "it did not open its socket"
    var attempt = configuration
    attempt.connectDeadline = .seconds(2)
    while MonotonicClock.now() < end {
      guard process.isRunning else {
        throw .cannotStart(
          "redis-server ended with status \(await process.waitForExit()) when it should start. "
            + "Its log \(options.logPath) ends: \(Folder.lastLine(of: options.logPath))")
      }
      do {
        let connection = try await RedisConnection.connect(attempt, loop: loop)
        await connection.close()
        return
      } catch {
        // A password that `arguments` set is no reason to wait: it answers.
        if let refusal = error.failure?.refusal, refusal.kind == .noAuth { return }
        last = "\(error)"
      }
      guard (try? await loop.sleep(for: .milliseconds(10))) != nil else {
        process.terminate()
        throw .interrupted
      }
    }
    process.terminate()
    throw .cannotStart(
      "redis-server was not ready within \(options.startDeadline.inSeconds) s: \(last) "
        + "See \(options.logPath).")
  }

  /// Waits for a server that an earlier life of ours started in this folder and that is still
  /// writing its data. Two at once would write into one file.
  private static func waitForPredecessor(
    _ options: Options, until end: Moment, on loop: EventLoop
  ) async throws(PrivateRedisError) {
    var isFirst = true
    while let processID = Folder.servingProcess(of: options.folder) {
      guard MonotonicClock.now() < end else {
        throw .folderInUse(folder: options.folder, processID: processID)
      }
      if isFirst { options.whenWaiting?(processID) }
      isFirst = false
      guard (try? await loop.sleep(for: .milliseconds(50))) != nil else { throw .interrupted }
    }
  }

  private static func arguments(_ options: Options) -> [String] {
    // The server enters its folder before it opens anything, so names in it are relative to that:
    // our own path of the folder may be relative to where we are.
    var arguments = [
      "--dir", options.folder, "--port", String(options.port ?? 0), "--bind", "127.0.0.1",
      "--unixsocket", Options.socketName, "--unixsocketperm", "600",
      "--pidfile", Folder.processIDFile,
      "--daemonize", "no", "--loglevel", "notice", "--maxmemory-policy", "noeviction",
      "--save", "",
    ]
    if options.isDurable {
      arguments += ["--appendonly", "yes", "--appendfsync", "everysec"]
      // At thousands of triggers a second the usual 64 MB are written in a few seconds, and each
      // rewrite forks and takes a core. So much is read again in a few seconds at a start.
      arguments += ["--auto-aof-rewrite-min-size", "256mb"]
    } else {
      arguments += ["--appendonly", "no"]
    }
    return arguments + options.arguments
  }

  private static func findExecutable() throws(PrivateRedisError) -> String {
    for name in ["redis-server", "valkey-server"] {
      if let path = Subprocess.executable(named: name) { return path }
    }
    throw .notInstalled
  }
}

extension PrivateRedisServer.Options {
  fileprivate static let socketName = "redis.sock"

  package var socketPath: String { folder + "/" + Self.socketName }
  package var logPath: String { folder + "/redis.log" }
}

/// Why a private server cannot be had.
package enum PrivateRedisError: Error, Sendable, Equatable, CustomStringConvertible {
  case notInstalled
  case pathTooLong(String)
  case folderInUse(folder: String, processID: Int32)
  case cannotStart(String)
  /// The task was cancelled while it waited.
  case interrupted

  package var description: String {
    switch self {
    case .notInstalled:
      "There is no redis-server in PATH. Install it (Debian and Ubuntu: apt-get install "
        + "redis-server; Fedora: dnf install redis), or name a server that runs already by its URL."
    case .pathTooLong(let path):
      "The socket \(path) has a path of \(path.utf8.count) bytes, and the system takes 107: choose "
        + "a data folder with a shorter path."
    case .folderInUse(let folder, let processID):
      "Process \(processID) serves the data in \(folder) and does not end. Stop it, or choose "
        + "another data folder."
    case .cannotStart(let text): text
    case .interrupted: "Starting redis-server was interrupted."
    }
  }
}
