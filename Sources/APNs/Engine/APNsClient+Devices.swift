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

/// One push of a batch.
package struct PushItem: Sendable {
  package var token: DeviceToken
  /// Shared, not copied, where many pushes carry the same.
  package var payload: [UInt8]
  /// A UUID in lower case, or nil to have APNs make one.
  package var id: String?

  package init(token: DeviceToken, payload: [UInt8], id: String? = nil) {
    self.token = token
    self.payload = payload
    self.id = id
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
  /// Lays out the head of alike pushes. Keep it for a fan-out; making it costs some microseconds.
  package nonisolated func template(_ options: PushOptions) -> PushTemplate {
    PushTemplate(options, app: app.bundleID, authority: pushAuthority)
  }

  /// Sends one push to one device.
  ///
  /// - Parameters:
  ///   - payload: as the payload types of this room encode it; its size is checked again.
  ///   - id: a UUID in lower case, which comes back in the answer; APNs makes one when nil.
  ///   - deadline: real time for everything, the wait for a connection included.
  package nonisolated func push(
    _ template: PushTemplate, to token: DeviceToken, payload: [UInt8], id: String? = nil,
    deadline: Duration = .seconds(10)
  ) async -> PushResult {
    if let failure = fault(template.options.type, bytes: payload.count, id: id) {
      return .notSent(failure)
    }
    return PushResult(
      await exchange.send(
        over: pushes, template.head(withID: id != nil),
        values: PushTemplate.values(token, id: id), body: payload,
        deadline: loop.nowFromAnyThread + deadline, retries: configuration.pushRetries))
  }

  /// Sends many pushes that differ in device and payload only, with one wait for all of them.
  ///
  /// - Parameter deadline: real time for the whole batch; what was not sent by then is
  ///   ``PushResult/notSent(_:)``.
  /// - Returns: a result for each item, in the order of the items. One that breaks a rule does not
  ///   keep the others back.
  package nonisolated func push(
    batch items: [PushItem], _ template: PushTemplate, deadline: Duration = .seconds(30)
  ) async -> [PushResult] {
    let deadline = loop.nowFromAnyThread + deadline
    let type = template.options.type
    // Those with an ID have one field more, in another head.
    let groups = Dictionary(grouping: items.indices) { items[$0].id != nil }
    let parts = groups.map { withID, numbers in
      BatchPart(
        head: template.head(withID: withID), numbers: numbers,
        batch: PushBatch(count: numbers.count, clock: exchange.clock) {
          fault(type, bytes: items[numbers[$0]].payload.count, id: items[numbers[$0]].id)
        } make: {
          let item = items[numbers[$0]]
          return BatchItem(
            values: PushTemplate.values(item.token, id: item.id), body: item.payload)
        })
    }
    return await send(parts, count: items.count, deadline: deadline)
  }

  /// Sends one payload to many devices.
  package nonisolated func push(
    _ template: PushTemplate, to tokens: [DeviceToken], payload: [UInt8],
    deadline: Duration = .seconds(30)
  ) async -> [PushResult] {
    let batch = PushBatch(
      count: tokens.count, clock: exchange.clock,
      fault: { _ in self.fault(template.options.type, bytes: payload.count, id: nil) },
      make: { BatchItem(values: PushTemplate.values(tokens[$0], id: nil), body: payload) })
    await exchange.send(
      batch, over: pushes, template.head(withID: false),
      deadline: loop.nowFromAnyThread + deadline, retries: configuration.pushRetries)
    return batch.results
  }

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
