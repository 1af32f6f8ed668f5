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
    case .success(let response):
      self = .accepted(id: response.fields["apns-id"], uniqueID: response.fields["apns-unique-id"])
    case .refused(let refusal): self = .refused(refusal)
    case .notSent(let failure): self = .notSent(failure)
    case .unknown(let failure): self = .unknown(failure)
    }
  }
}

/// One push of a batch.
package struct PushItem: Sendable {
  package var token: DeviceToken
  /// Shared, not copied, where many pushes carry the same.
  package var payload: [UInt8]
  /// A UUID in lower case, or nil to have one made.
  package var id: String?

  package init(token: DeviceToken, payload: [UInt8], id: String? = nil) {
    self.token = token
    self.payload = payload
    self.id = id
  }
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
  ///   - id: a UUID in lower case, which comes back in the answer; made here when nil.
  ///   - deadline: real time for everything, the wait for a connection included.
  package func push(
    _ template: PushTemplate, to token: DeviceToken, payload: [UInt8], id: String? = nil,
    deadline: Duration = .seconds(10)
  ) async -> PushResult {
    if let failure = fault(template.options.type, bytes: payload.count, id: id) {
      return .notSent(failure)
    }
    let values: FieldValues = [token.path, id ?? requestIDs.next()]
    return PushResult(
      await exchange.send(
        over: pushes, template.cached, values: values, body: payload,
        deadline: loop.now + deadline, retries: configuration.pushRetries))
  }

  /// Sends many pushes that differ in device and payload only, with one wait for all of them.
  ///
  /// - Parameter deadline: real time for the whole batch; what was not sent by then is
  ///   ``PushResult/notSent(_:)``.
  /// - Returns: a result for each item, in the order of the items. One that breaks a rule does not
  ///   keep the others back.
  package func push(
    batch items: [PushItem], _ template: PushTemplate, deadline: Duration = .seconds(30)
  ) async -> [PushResult] {
    let type = template.options.type
    func fault(_ index: Int) -> APNsFailure? {
      self.fault(type, bytes: items[index].payload.count, id: items[index].id)
    }
    let broken = items.indices.filter { fault($0) != nil }
    guard broken.isEmpty else {
      var good = items
      for index in broken.reversed() { good.remove(at: index) }
      var results = await push(batch: good, template, deadline: deadline)
      for index in broken {
        if let failure = fault(index) { results.insert(.notSent(failure), at: index) }
      }
      return results
    }
    let requests = items.map {
      BatchItem(values: [$0.token.path, $0.id ?? requestIDs.next()], body: $0.payload)
    }
    let answers = await exchange.sendAll(
      over: pushes, template.cached, requests, deadline: loop.now + deadline,
      retries: configuration.pushRetries)
    return answers.map { PushResult($0) }
  }

  /// Sends one payload to many devices.
  package func push(
    _ template: PushTemplate, to tokens: [DeviceToken], payload: [UInt8],
    deadline: Duration = .seconds(30)
  ) async -> [PushResult] {
    await push(
      batch: tokens.map { PushItem(token: $0, payload: payload) }, template, deadline: deadline)
  }

  /// The rule that a push breaks which only this client and the whole request show.
  func fault(_ type: PushType, bytes: Int, id: String?) -> APNsFailure? {
    if type.needsToken && !exchange.usesTokens { return .rule(.needsToken(type)) }
    if let id, !RequestIDs.isCanonical(id) { return .rule(.unusableID) }
    let limit = type.payloadLimitBytes
    if bytes == 0 { return .payload(.empty) }
    return bytes <= limit ? nil : .payload(.tooLarge(bytes: bytes, limit: limit))
  }
}
