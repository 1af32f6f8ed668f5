import HTTP

extension ExchangeOutcome {
  func isNotSent(_ kind: ExchangeFailure.Kind) -> Bool {
    if case .notSent(let failure) = self { failure.kind == kind } else { false }
  }

  func isUnknown(_ kind: ExchangeFailure.Kind) -> Bool {
    if case .unknown(let failure) = self { failure.kind == kind } else { false }
  }
}
