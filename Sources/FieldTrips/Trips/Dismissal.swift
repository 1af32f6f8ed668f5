package import Clocks

/// How long an ended card stays on the Lock Screen.
package enum Dismissal: Hashable, Sendable {
  /// As the system likes: up to four hours.
  case systemDefault
  case atOnce
  /// This long after the end, at most four hours: the system cuts what is longer, so it is refused.
  case after(Duration)

  /// - Throws: a sentence, when the span is negative or over four hours.
  package static func checked(after span: Duration) throws(IdentifierError) -> Dismissal {
    let seconds = span.wholeNanoseconds / 1_000_000_000
    guard span >= .zero else {
      throw IdentifierError("A dismissal \(seconds) s after the end lies before it.")
    }
    guard span <= LiveActivityLimits.longestDismissal else {
      throw IdentifierError(
        "A dismissal \(seconds) s after the end is over the system's limit of 14400 s (4 h).")
    }
    return span == .zero ? .atOnce : .after(span)
  }

  /// The longest time that the card can be seen after the end.
  package var longestSpan: Duration {
    switch self {
    case .systemDefault: LiveActivityLimits.longestDismissal
    case .atOnce: .zero
    case .after(let span): span
    }
  }

  /// `dismissal-date` of an end event at this time; absent by system default. A date that has
  /// passed removes the card at once.
  package func date(endingAt end: UnixTime) -> UnixTime? {
    switch self {
    case .systemDefault: nil
    case .atOnce: end - .seconds(1)
    case .after(let span): end + span
    }
  }
}
