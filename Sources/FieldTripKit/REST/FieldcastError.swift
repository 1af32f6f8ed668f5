/// Why a call to the service did not do what it should.
public enum FieldcastError: Error, Hashable, Sendable {
  /// The service said no; the problem document says why, and what to do.
  case refused(ProblemReply, retryAfter: Duration?)
  /// There was no answer, however often it was tried. The service may have acted on the request:
  /// repeating it is safe.
  case unreachable(String)
  /// An answer that is not the service's, such as a page of something between.
  case unreadable(status: Int, String)
  /// The request could not be written, and was not sent.
  case unsendable(String)
  /// The task was cancelled.
  case cancelled

  /// Whether the same request may succeed later, with nothing else changed.
  public var isPassing: Bool {
    switch self {
    case .refused(let problem, _):
      RetryPolicy.isPassing(status: problem.status) || problem.kind == "request-in-progress"
    case .unreadable(let status, _): RetryPolicy.isPassing(status: status)
    case .unreachable, .cancelled: true
    case .unsendable: false
    }
  }

  /// Whether what waits is kept for another try: also who may not call just now may call later, with
  /// a token that is renewed.
  var isWorthRepeating: Bool {
    if case .refused(let problem, _) = self, [401, 403].contains(problem.status) { return true }
    return isPassing
  }

  /// How long the service asks to wait.
  public var retryAfter: Duration? {
    if case .refused(_, let pause) = self { pause } else { nil }
  }
}

extension FieldcastError: CustomStringConvertible {
  public var description: String {
    switch self {
    case .refused(let problem, _): "\(problem.title) (\(problem.status)). \(problem.detail)"
    case .unreachable(let reason): "The service does not answer: \(reason)"
    case .unreadable(let status, let reason): "The answer \(status) cannot be read: \(reason)"
    case .unsendable(let reason): "The request cannot be sent: \(reason)"
    case .cancelled: "The call was cancelled."
    }
  }
}
