package import JSON

/// One thing that is wrong with what a caller sent.
package struct Problem: Error, Hashable, Sendable {
  /// Stable names: callers and dead-letter readers act on them.
  package enum Code: String, Hashable, Sendable, CaseIterable {
    case malformedJSON
    /// More bytes, members or elements than are taken.
    case tooLarge
    case wrongType
    case missingField
    case unknownField
    /// Of the right type, and yet no value that this field can have.
    case badValue
    case badIdentifier
    /// No date, or one in another unit.
    case badDate
    /// A date that is fine by itself, at a time that makes no sense here.
    case badTime
    case unknownTrip
    /// Nobody of that name has joined the trip.
    case unknownMember
    /// No card of that ID was registered.
    case unknownActivity
    case endedTrip
    /// The body names another trip than the address does.
    case wrongTrip
    /// The activity type is not configured.
    case unknownActivityType
    /// The activity type has no such phase.
    case unknownPhase
    /// Attributes and content-state together are over ActivityKit's limit, or the payload over
    /// APNs'.
    case stateTooLarge
  }

  package let code: Code
  /// Which part is wrong, as a JSON Pointer (RFC 6901): `/notes/3/place`; empty for the whole.
  package let path: String
  /// A sentence: what was expected, what was found.
  package let message: String

  package init(_ code: Code, at path: String = "", _ message: String) {
    self.code = code
    self.path = path
    self.message = message
  }
}

/// Why something was not taken: at least one problem.
package struct Refusal: Error, Hashable, Sendable, CustomStringConvertible {
  package let problems: [Problem]

  package init(_ first: Problem, _ others: [Problem] = []) { problems = [first] + others }

  /// Nil if there are no problems.
  package init?(_ problems: [Problem]) {
    guard !problems.isEmpty else { return nil }
    self.problems = problems
  }

  package init(_ error: JSONError, at path: String = "") {
    let code: Problem.Code =
      switch error.reason {
      case .tooLarge, .tooManyMembers, .tooDeep: .tooLarge
      case .syntax, .invalidUTF8, .loneSurrogate, .duplicateKey: .malformedJSON
      }
    self.init(Problem(code, at: path, error.message))
  }

  /// The code of the first problem.
  package var code: Problem.Code { problems[0].code }

  /// All problems in one line: `/place: Expected a string, found 7.`
  package var description: String {
    problems.map(\.text).joined(separator: " ")
  }
}

extension Problem {
  /// Its place, and what is wrong there.
  package var text: String { path.isEmpty ? message : "\(path): \(message)" }
}

/// `/notes` and `3` make `/notes/3`; a key's tilde and slash are escaped.
func pointer(_ path: String, _ key: String) -> String {
  var output = path + "/"
  for scalar in key.unicodeScalars {
    switch scalar {
    case "~": output += "~0"
    case "/": output += "~1"
    default: output.unicodeScalars.append(scalar)
    }
  }
  return output
}
