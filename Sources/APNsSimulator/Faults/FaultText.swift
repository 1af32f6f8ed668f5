internal import Clocks

/// Faults as a person writes them: `latency=20ms..200ms,reset=1%,429=2%x20`.
package enum FaultText {
  /// Why a text says no faults. The message names the term.
  package struct Problem: Error, Sendable, Equatable, CustomStringConvertible {
    package let description: String
  }

  /// One word of the language.
  package struct Term: Sendable {
    package let name: String
    /// What may stand behind the name, by an example.
    package let example: String
    package let help: String
    fileprivate let form: Form
  }

  fileprivate enum Form: Sendable {
    case share(@Sendable (inout SimulatorFaults, Double) -> Void)
    case burst(@Sendable (inout SimulatorFaults, SimulatorFaults.Burst) -> Void)
    case shareAndCount(@Sendable (inout SimulatorFaults, Double, Int?) -> Void)
    case shareAndSpan(@Sendable (inout SimulatorFaults, Double, Duration?) -> Void)
    case spans(@Sendable (inout SimulatorFaults, Duration, Duration) -> Void)
    case span(@Sendable (inout SimulatorFaults, Duration) -> Void)
    case count(@Sendable (inout SimulatorFaults, Int) -> Void)
  }

  /// Reads terms that are separated by commas. A text without any says no faults.
  package static func parse(_ text: String) throws(Problem) -> SimulatorFaults {
    var faults = SimulatorFaults()
    var seen: Set<Substring> = []
    for word in text.split(separator: ",") {
      let parts = word.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      let name = parts[0]
      guard let term = terms.first(where: { $0.name == name }) else {
        let known = terms.map(\.name).joined(separator: ", ")
        throw Problem(description: "there is no fault \(name). There are \(known).")
      }
      guard seen.insert(name).inserted else {
        throw Problem(description: "\(name) is given twice.")
      }
      guard parts.count == 2, apply(term.form, String(parts[1]), to: &faults) else {
        throw Problem(description: "\(word): expected \(term.name)=\(term.example), or the like.")
      }
    }
    do throws(InvalidSetting) {
      try faults.validate()
    } catch {
      throw Problem(description: "\(error)")
    }
    return faults
  }

  private static func apply(
    _ form: Form, _ value: String, to faults: inout SimulatorFaults
  ) -> Bool {
    let pieces = value.split(separator: "x", maxSplits: 1, omittingEmptySubsequences: false)
      .map(String.init)
    let (first, behind) = (pieces[0], pieces.count == 2 ? pieces[1] : nil)
    switch form {
    case .share(let set):
      guard let share = share(value) else { return false }
      set(&faults, share)
    case .burst(let set):
      guard let share = share(first), let length = optional(behind, { Int($0) }) else {
        return false
      }
      set(&faults, SimulatorFaults.Burst(share: share, length: length ?? 1))
    case .shareAndCount(let set):
      guard let share = share(first), let count = optional(behind, { Int($0) }) else {
        return false
      }
      set(&faults, share, count)
    case .shareAndSpan(let set):
      guard let share = share(first), let span = optional(behind, span) else { return false }
      set(&faults, share, span)
    case .spans(let set):
      guard let (low, high) = spans(value) else { return false }
      set(&faults, low, high)
    case .span(let set):
      guard let span = span(value) else { return false }
      set(&faults, span)
    case .count(let set):
      guard let count = Int(value) else { return false }
      set(&faults, count)
    }
    return true
  }

  /// A value that may be left out: nil if it is there and cannot be read.
  private static func optional<Value>(
    _ text: String?, _ read: (String) -> Value?
  ) -> Value?? {
    guard let text else { return .some(nil) }
    guard let value = read(text) else { return nil }
    return .some(value)
  }

  private static func share(_ text: String) -> Double? {
    guard text.hasSuffix("%"), let percent = Double(text.dropLast()),
      (0...100).contains(percent)
    else { return nil }
    return percent / 100
  }

  /// `20ms..200ms`, or one span for both ends.
  private static func spans(_ text: String) -> (Duration, Duration)? {
    guard let dots = text.firstRange(of: "..") else {
      return span(text).map { ($0, $0) }
    }
    guard let low = span(String(text[..<dots.lowerBound])),
      let high = span(String(text[dots.upperBound...])), low <= high
    else { return nil }
    return (low, high)
  }

  /// A number and its unit: `20ms`, `1.5s`, `-2m`, `1h`.
  private static func span(_ text: String) -> Duration? {
    let units: [(String, Double)] = [("ms", 1e6), ("s", 1e9), ("m", 60e9), ("h", 3600e9)]
    guard let (unit, nanoseconds) = units.first(where: { text.hasSuffix($0.0) }),
      let number = Double(text.dropLast(unit.utf8.count)), abs(number) < 1e6
    else { return nil }
    return .nanoseconds(Int64((number * nanoseconds).rounded()))
  }
}

extension FaultText {
  package static let terms: [Term] = [
    Term(
      name: "latency", example: "20ms..200ms", help: "before every answer",
      form: .spans { faults, low, high in
        faults.latencyLow = low
        faults.latencyHigh = high
      }),
    Term(
      name: "429", example: "2%x20",
      help: "answers TooManyRequests, to 20 requests of a connection in a row",
      form: .burst { $0.throttled = $1 }),
    Term(
      name: "500", example: "1%", help: "answers InternalServerError",
      form: .burst { $0.internalError = $1 }),
    Term(
      name: "503", example: "1%x5", help: "answers ServiceUnavailable",
      form: .burst { $0.unavailable = $1 }),
    Term(
      name: "expired", example: "0.1%", help: "answers ExpiredProviderToken to a good token",
      form: .share { $0.expiredShare = $1 }),
    Term(
      name: "refuse", example: "1%", help: "refuses the stream (REFUSED_STREAM)",
      form: .share { $0.refusedShare = $1 }),
    Term(
      name: "drop", example: "0.1%", help: "resets the TCP connection",
      form: .share { $0.droppedShare = $1 }),
    Term(
      name: "drop-every", example: "500", help: "the same at every 500th request",
      form: .count { $0.dropEvery = $1 }),
    Term(
      name: "reset", example: "1%", help: "processes the request, then resets its stream",
      form: .share { $0.resetShare = $1 }),
    Term(
      name: "silence", example: "1%", help: "processes the request, and never answers",
      form: .share { $0.silentShare = $1 }),
    Term(
      name: "half", example: "1%", help: "processes it; half of an answer comes, and no end",
      form: .share { $0.halvedShare = $1 }),
    Term(
      name: "garble", example: "1%", help: "processes it; half of the body is all of it",
      form: .share { $0.garbledShare = $1 }),
    Term(
      name: "goaway", example: "0.5%x40", help: "GOAWAY at once; denies the 40 newest streams",
      form: .shareAndCount { faults, share, count in
        faults.goAwayShare = share
        faults.goAwayStreamsBack = count ?? 0
      }),
    Term(
      name: "goaway-gently", example: "0.5%", help: "GOAWAY in two steps, denies no stream",
      form: .share { $0.gentleGoAwayShare = $1 }),
    Term(
      name: "goaway-every", example: "1000", help: "the same at every 1000th request",
      form: .count { $0.gentleGoAwayEvery = $1 }),
    Term(
      name: "stall", example: "0.1%x5s", help: "the connection stops for 5 s, then goes on",
      form: .shareAndSpan { faults, share, span in
        faults.stalledShare = share
        if let span { faults.stallLength = span }
      }),
    Term(
      name: "windows", example: "10%", help: "of connections: their windows never open",
      form: .share { $0.shutWindowsShare = $1 }),
    Term(
      name: "skew", example: "-90s", help: "its clock is wrong by so much",
      form: .span { $0.clockSkew = $1 }),
    Term(
      name: "token-expiry", example: "30s", help: "provider tokens expire at this age",
      form: .span { $0.tokenExpiry = $1 }),
  ]
}
