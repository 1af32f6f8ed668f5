/// What a command tells the shell. The numbers from 64 on are those of BSD's `sysexits.h`.
package enum ExitStatus: Int32, Sendable, CaseIterable {
  case success = 0
  /// Everything ran, and what was to be shown did not hold.
  case checkFailed = 1
  case usage = 64
  case badInput = 65
  case noInput = 66
  case unavailable = 69
  case internalError = 70
  case cannotCreate = 73
  case configuration = 78

  package var meaning: String {
    switch self {
    case .success: "done"
    case .checkFailed: "it ran, and the outcome is not the one required"
    case .usage: "the command line is wrong"
    case .badInput: "the input is not what it should be"
    case .noInput: "a file cannot be read"
    case .unavailable: "something needed (Redis, APNs, a port) is not there"
    case .internalError: "a fault of Fieldcast itself"
    case .cannotCreate: "a file cannot be written"
    case .configuration: "a setting is missing or wrong"
    }
  }
}

/// Ends a command with a message for the person who started it.
package struct CommandFailure: Error, Sendable {
  package var status: ExitStatus
  /// What was wrong, and what to do. Never a secret.
  package var message: String

  package init(_ status: ExitStatus, _ message: String) {
    self.status = status
    self.message = message
  }
}
