internal import FieldTrips
internal import HTTP
internal import JSON
internal import TripStore

/// An error as callers get it: a problem document (RFC 9457).
///
/// `type` names the kind of problem and never changes; `title` is its meaning; `detail` says what
/// was wrong this time; `errors`, where there are several, has one entry for each.
struct ProblemDocument: Sendable {
  let status: Int
  /// The last part of the problem's type: `unknown-trip`.
  let kind: String
  let title: String
  let detail: String
  let problems: [Problem]
  /// Seconds after which it is worth trying again.
  let retryAfter: Int?

  // Private, so that every kind comes from one of the lists that the API's description is held to.
  private init(
    status: Int, kind: String, title: String, detail: String, problems: [Problem] = [],
    retryAfter: Int? = nil
  ) {
    self.status = status
    self.kind = kind
    self.title = title
    self.detail = detail
    self.problems = problems
    self.retryAfter = retryAfter
  }

  var response: HTTPResponse {
    var writer = JSONWriter(reservingCapacity: 256)
    writer.object {
      $0.member("type", Self.typePrefix + kind)
      $0.member("title", title)
      $0.member("status", status)
      $0.member("detail", detail)
      if !problems.isEmpty { Self.write(problems, to: &$0) }
    }
    var fields: HTTPFields = ["content-type": "application/problem+json"]
    if let retryAfter { fields["retry-after"] = String(retryAfter) }
    return HTTPResponse(status: status, fields: fields, body: writer.finish())
  }

  static let typePrefix = "urn:fieldcast:problem:"

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
  init(_ kind: ProblemKind, _ detail: String, retryAfter: Int? = nil) {
    self.init(
      status: kind.status, kind: kind.rawValue, title: kind.title, detail: detail,
      retryAfter: retryAfter)
  }

  /// What HTTP itself has a name for: a status that a parser, the server or the router refuses with.
  init(status: Int, detail: String) {
    assert(Self.refusedByHTTP.contains(status), "\(status) is missing in the API's description")
    let phrase = HTTPStatus.phrase(status)
    self.init(
      status: status, kind: phrase.lowercased().replacing(" ", with: "-"), title: phrase,
      detail: detail)
  }

  static let refusedByHTTP = [400, 404, 405, 408, 413, 417, 431, 500, 501, 503, 505]

  /// One of every kind that there is.
  static var everyKind: [ProblemDocument] {
    Problem.Code.allCases.map { ProblemDocument(Problem($0, "")) }
      + ProblemKind.allCases.map { ProblemDocument($0, "") }
      + refusedByHTTP.map { ProblemDocument(status: $0, detail: "") }
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
        .storeFull, "Redis has reached its memory limit; nothing was stored. Try again later.",
        retryAfter: 5)
    case .wrongVersion, .unexpectedReply, .refused, .invalidSetting, .notPermitted:
      self.init(.storeError, "\(error)")
    case .unreachable, .unknownOutcome, .readOnly:
      self.init(
        .storeUnavailable, "Redis does not answer at the moment. Repeating the request is safe.",
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
