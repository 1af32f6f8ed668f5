internal import CLinux
internal import Glibc

/// A program that we started and that is asked to end when we end, however we do.
///
/// The kernel sends it SIGTERM when the thread that started it is gone, so start it from a thread
/// that lives as long as the process, such as a loop's.
package final class Subprocess: Sendable {
  package let processID: Int32
  private let exit = Lock(Exit())

  private struct Exit {
    var status: Int32?
    var processorTime: Duration?
    var waiters: [UnsafeContinuation<Int32, Never>] = []
  }

  /// - Parameters:
  ///   - path: of the executable, absolute.
  ///   - outputPath: a file that gets its standard output and error, appended; nil for nowhere.
  ///   - processor: the one processor that it may run on, by number; nil for all.
  /// - Throws: ``SystemError`` when the program cannot be executed or the file not be opened.
  package static func start(
    _ path: String, arguments: [String], environment: [String] = [], outputPath: String? = nil,
    processor: Int? = nil, on loop: EventLoop
  ) async throws(SystemError) -> Subprocess {
    let result: Result<Int32, SystemError> = await withUnsafeContinuation { continuation in
      loop.execute {
        do throws(SystemError) {
          let child = try spawn(path, arguments, environment, outputPath, processor)
          continuation.resume(returning: .success(child))
        } catch {
          continuation.resume(returning: .failure(error))
        }
      }
    }
    let process = Subprocess(processID: try result.get())
    process.reapInBackground()
    return process
  }

  private init(processID: Int32) { self.processID = processID }

  /// Looks for a program in `PATH` and where Debian puts programs, since a service's `PATH` is often
  /// short.
  ///
  /// - Returns: its absolute path; nil when it is not installed.
  package static func executable(named name: String) -> String? {
    let search = getenv("PATH").map { String(cString: $0) } ?? ""
    let folders: [Substring] =
      search.split(separator: ":") + ["/usr/bin", "/usr/sbin", "/usr/local/bin"]
    return folders.lazy.map { "\($0)/\(name)" }.first { access($0, X_OK) == 0 }
  }

  /// Whether it still runs.
  package var isRunning: Bool { exit.withLock { $0.status == nil } }

  /// What it spent of the processors' time, user and system together; nil while it runs.
  package var processorTime: Duration? { exit.withLock { $0.processorTime } }

  /// Asks it to end, with SIGTERM.
  package func terminate() { signal(SIGTERM) }

  /// Sends a signal, unless the process is gone: its number may belong to another by then.
  package func signal(_ number: Int32) {
    exit.withLock { if $0.status == nil { kill(processID, number) } }
  }

  /// Waits until it has ended.
  ///
  /// - Returns: its exit status, or 128 and the signal's number as shells say it.
  package func waitForExit() async -> Int32 {
    await withUnsafeContinuation { continuation in
      let known: Int32? = exit.withLock { exit in
        if exit.status == nil { exit.waiters.append(continuation) }
        return exit.status
      }
      if let known { continuation.resume(returning: known) }
    }
  }

  private func reapInBackground() {
    var thread = pthread_t()
    let context = Unmanaged.passRetained(self)
    if pthread_create(&thread, nil, Self.reap, context.toOpaque()) == 0 {
      pthread_detach(thread)
    } else {
      context.release()
    }
  }

  private static let reap: @convention(c) (UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? = {
    context in
    guard let context else { return nil }
    let process = Unmanaged<Subprocess>.fromOpaque(context).takeRetainedValue()
    // Wait without reaping first: until the status is recorded the number must stay taken.
    var information = siginfo_t()
    while waitid(P_PID, id_t(process.processID), &information, WEXITED | WNOWAIT) == -1,
      errno == EINTR
    {}
    var status: Int32 = 0
    var usage = rusage()
    let waiters = process.exit.withLock { exit in
      while wait4(process.processID, &status, 0, &usage) == -1, errno == EINTR {}
      exit.processorTime = usage.ru_utime.duration + usage.ru_stime.duration
      exit.status = status & 0x7f == 0 ? (status >> 8) & 0xff : 128 + (status & 0x7f)
      defer { exit.waiters = [] }
      return exit.waiters.map { ($0, exit.status ?? 0) }
    }
    for (waiter, code) in waiters { waiter.resume(returning: code) }
    return nil
  }

  private static func spawn(
    _ path: String, _ arguments: [String], _ environment: [String], _ outputPath: String?,
    _ processor: Int?
  ) throws(SystemError) -> Int32 {
    var output: Int32 = -1
    if let outputPath {
      output = try systemCall("open \(outputPath)") {
        open(outputPath, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o600)
      }
    }
    defer { if output >= 0 { close(output) } }
    var argv: [UnsafeMutablePointer<CChar>?] = ([path] + arguments).map { strdup($0) }
    var envp: [UnsafeMutablePointer<CChar>?] = environment.map { strdup($0) }
    defer { for string in argv + envp { free(string) } }
    argv.append(nil)
    envp.append(nil)
    let child = clinux_spawn(path, argv, envp, output, Int32(processor ?? -1))
    guard child > 0 else { throw SystemError(call: "start \(path)", code: errno) }
    return child
  }
}

extension timeval {
  fileprivate var duration: Duration {
    .seconds(Int64(tv_sec)) + .microseconds(Int64(tv_usec))
  }
}
