internal import FieldTrips
internal import Glibc
internal import JSON
internal import Transport

/// Where the service says what it does: one constant sentence a line, with facts beside it.
///
/// Facts must not be secrets: tokens, keys and passwords never come here.
package struct ServiceLog: Sendable {
  package enum Level: Int, Sendable, Comparable, CaseIterable {
    case debug, info, warning, error

    package var name: String {
      switch self {
      case .debug: "debug"
      case .info: "info"
      case .warning: "warning"
      case .error: "error"
      }
    }

    package static func < (left: Level, right: Level) -> Bool { left.rawValue < right.rawValue }
  }

  package enum Format: String, Sendable, CaseIterable {
    case text, json
  }

  private let minimum: Level
  private let write: @Sendable (Level, String, [(String, String)]) -> Void

  /// - Parameter write: gets the lines that pass; may be called on any thread.
  package init(
    minimum: Level, write: @escaping @Sendable (Level, String, [(String, String)]) -> Void
  ) {
    self.minimum = minimum
    self.write = write
  }

  /// Writes to standard error.
  package static func standardError(minimum: Level, format: Format) -> ServiceLog {
    ServiceLog(minimum: minimum) { level, message, facts in
      let line = format == .json ? json(level, message, facts) : text(level, message, facts)
      // One call a line, so that lines of several threads do not mix. A log that cannot be written
      // must not stop the service, and there is nowhere to say so.
      _ = line.withUnsafeBufferPointer { Glibc.write(STDERR_FILENO, $0.baseAddress, $0.count) }
    }
  }

  /// Says nothing.
  package static let silent = ServiceLog(minimum: .error) { _, _, _ in }

  package func debug(_ message: String, _ facts: KeyValuePairs<String, String> = [:]) {
    log(.debug, message, facts)
  }

  package func info(_ message: String, _ facts: KeyValuePairs<String, String> = [:]) {
    log(.info, message, facts)
  }

  package func warning(_ message: String, _ facts: KeyValuePairs<String, String> = [:]) {
    log(.warning, message, facts)
  }

  package func error(_ message: String, _ facts: KeyValuePairs<String, String> = [:]) {
    log(.error, message, facts)
  }

  private func log(_ level: Level, _ message: String, _ facts: KeyValuePairs<String, String>) {
    if level >= minimum { write(level, message, facts.map { ($0.key, $0.value) }) }
  }

  private static func text(
    _ level: Level, _ message: String, _ facts: [(String, String)]
  ) -> [UInt8] {
    var line = "\(timestamp()) \(level.name) \(message)"
    for (name, value) in facts {
      line += " \(name)=" + (value.contains(" ") ? "\"\(value)\"" : value)
    }
    return Array((line.replacing("\n", with: " ") + "\n").utf8)
  }

  private static func json(
    _ level: Level, _ message: String, _ facts: [(String, String)]
  ) -> [UInt8] {
    var writer = JSONWriter(reservingCapacity: 192)
    writer.object {
      $0.member("time", timestamp())
      $0.member("level", level.name)
      $0.member("message", message)
      for (name, value) in facts { $0.member(name, value) }
    }
    return writer.finish() + [UInt8(ascii: "\n")]
  }

  private static func timestamp() -> String { DateText.format(WallClock.now()) }
}
