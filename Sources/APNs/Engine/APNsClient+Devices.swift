import Clocks
import HTTP

/// What became of a push to one device.
public enum PushResult: Sendable {
  /// APNs took it. That says nothing about the device.
  ///
  /// - Parameters:
  ///   - id: the push's `apns-id`.
  ///   - uniqueID: only in the development environment, for Apple's delivery log.
  case accepted(id: String?, uniqueID: String?)
  case refused(APNsRefusal)
  /// APNs has certainly not seen it.
  case notSent(APNsFailure)
  /// APNs may have seen it. Repeating a start may show the card twice.
  case unknown(APNsFailure)

  init(_ answer: AuthorizedExchange.Answer) {
    switch answer {
    case .success(let response): self.init(acceptedBy: response)
    case .refused(let refusal): self = .refused(refusal)
    case .notSent(let failure): self = .notSent(failure)
    case .unknown(let failure): self = .unknown(failure)
    }
  }

  init(acceptedBy response: HTTPResponse) {
    self = .accepted(id: response.fields["apns-id"], uniqueID: response.fields["apns-unique-id"])
  }
}

/// Those of a batch whose heads are alike.
struct BatchPart: Sendable {
  var head: CachedTemplate
  /// Where they stand in the batch.
  var numbers: [Int]
  var batch: PushBatch
}

extension APNsClient {
  /// Sends the parts of one batch, all at the same time.
  ///
  /// - Parameter count: of all parts together.
  /// - Returns: the results by their numbers in the whole.
  nonisolated func send(_ parts: [BatchPart], count: Int, deadline: Moment) async -> [PushResult] {
    let retries = configuration.pushRetries
    if parts.count == 1, let part = parts.first {
      await exchange.send(
        part.batch, over: pushes, part.head, deadline: deadline, retries: retries)
      return part.batch.results
    }
    await withTaskGroup(of: Void.self) { group in
      for part in parts {
        group.addTask(executorPreference: loop.tasks) {
          await self.exchange.send(
            part.batch, over: self.pushes, part.head, deadline: deadline, retries: retries)
        }
      }
    }
    var results = [PushResult?](repeating: nil, count: count)
    for part in parts {
      for (number, result) in zip(part.numbers, part.batch.results) { results[number] = result }
    }
    return results.compactMap { $0 }
  }

  /// The rule that a push breaks which only this client and the whole request show.
  nonisolated func fault(_ type: PushType, bytes: Int, id: String?) -> APNsFailure? {
    if type.needsToken && !exchange.usesTokens { return .rule(.needsToken(type)) }
    if let id, !RequestIDs.isCanonical(id) { return .rule(.unusableID) }
    let limit = type.payloadLimitBytes
    if bytes == 0 { return .payload(.empty) }
    return bytes <= limit ? nil : .payload(.tooLarge(bytes: bytes, limit: limit))
  }
}
