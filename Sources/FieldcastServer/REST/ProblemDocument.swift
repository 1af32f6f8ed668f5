internal import FieldTrips
internal import HTTP
internal import JSON
internal import TripStore

/// An error as callers get it: a problem document (RFC 9457).
///
/// `type` names the kind of problem and never changes; `title` is its meaning; `detail` says what
/// was wrong this time; `errors`, where there are several, has one entry for each.
struct ProblemDocument: Sendable {
  var status: Int
  /// The last part of the problem's type: `unknown-trip`.
  var kind: String
  var title: String
  var detail: String
  var problems: [Problem] = []
  /// Seconds after which it is worth trying again.
  var retryAfter: Int?

  var response: HTTPResponse {
    var writer = JSONWriter(reservingCapacity: 256)
    writer.object {
      $0.member("type", "urn:fieldcast:problem:" + kind)
      $0.member("title", title)
      $0.member("status", status)
      $0.member("detail", detail)
      if !problems.isEmpty { Self.write(problems, to: &$0) }
    }
    var fields: HTTPFields = ["content-type": "application/problem+json"]
    if let retryAfter { fields["retry-after"] = String(retryAfter) }
    return HTTPResponse(status: status, fields: fields, body: writer.finish())
  }

  private static func write(_ problems: [Problem], to writer: inout JSONWriter) {
    writer.key("errors")
    writer.array { list in
      for problem in problems {
        list.object {
          $0.member("code", problem.code.rawValue)
          if !problem.path.isEmpty { $0.member("pointer", problem.path) }
          $0.member("message", problem.message)
        }
      }
    }
  }
}

extension ProblemDocument {
  /// What HTTP itself has a name for.
  init(status: Int, detail: String) {
    let phrase = HTTPStatus.phrase(status)
    self.init(
      status: status, kind: phrase.lowercased().replacing(" ", with: "-"), title: phrase,
      detail: detail)
  }

  /// The request is wrong.
  init(_ refusal: Refusal) {
    let first = refusal.problems[0]
    self.init(
      status: first.status, kind: first.code.kind, title: first.code.title,
      detail: refusal.description, problems: refusal.problems)
  }

  init(_ problem: Problem) { self.init(Refusal(problem)) }

  /// Redis did not do it.
  init(_ error: StoreError) {
    switch error {
    case .outOfMemory:
      self.init(
        status: 503, kind: "store-full", title: "The store takes nothing new",
        detail: "Redis has reached its memory limit; nothing was stored. Try again later.",
        retryAfter: 5)
    case .wrongVersion, .unexpectedReply, .refused, .invalidSetting, .notPermitted:
      self.init(
        status: 500, kind: "store-error", title: "The store cannot be used", detail: "\(error)")
    case .unreachable, .unknownOutcome, .readOnly:
      self.init(
        status: 503, kind: "store-unavailable", title: "The store does not answer",
        detail: "Redis does not answer at the moment. Repeating the request is safe.",
        retryAfter: 1)
    }
  }

  static func unknownTrip(_ trip: String) -> ProblemDocument {
    ProblemDocument(
      Problem(.unknownTrip, "There is no trip \(trip). Was it created, or is it long over?"))
  }
}

extension Problem {
  /// One member that is too large does not make the request too large.
  fileprivate var status: Int { code == .tooLarge && !path.isEmpty ? 400 : code.status }
}

extension Problem.Code {
  var status: Int {
    switch self {
    case .malformedJSON, .wrongType, .missingField, .unknownField, .badValue, .badIdentifier,
      .badDate, .badTime, .wrongTrip, .unknownActivityType, .unknownPhase:
      400
    case .tooLarge: 413
    case .unknownTrip, .unknownMember, .unknownActivity: 404
    case .endedTrip: 409
    case .stateTooLarge: 422
    }
  }

  /// The code in the style of URLs: `malformed-json`.
  var kind: String {
    var text = ""
    var previousIsLower = false
    for character in rawValue {
      if character.isUppercase, previousIsLower { text += "-" }
      previousIsLower = character.isLowercase
      text += character.lowercased()
    }
    return text
  }

  var title: String {
    switch self {
    case .malformedJSON: "The body is not JSON as it should be"
    case .tooLarge: "The request is too large"
    case .wrongType: "A value is of the wrong type"
    case .missingField: "A member is missing"
    case .unknownField: "There is no such member"
    case .badValue: "A value cannot be used"
    case .badIdentifier: "An identifier cannot be used"
    case .badDate: "A date cannot be read"
    case .badTime: "A time makes no sense here"
    case .unknownTrip: "There is no such trip"
    case .unknownMember: "Nobody of that name is on the trip"
    case .unknownActivity: "There is no such card"
    case .endedTrip: "The trip is over"
    case .wrongTrip: "The body names another trip"
    case .unknownActivityType: "There is no such activity type"
    case .unknownPhase: "There is no such phase"
    case .stateTooLarge: "The card would be too large"
    }
  }
}
