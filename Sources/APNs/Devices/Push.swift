import Clocks
import HTTP

/// What a push says: the body of a request, in the form that its push type wants.
///
/// The types of this library that conform know the rules of theirs; ``RawPayload`` takes JSON that
/// the caller wrote.
public protocol PushPayload: Sendable {
  /// The kind of push that it is the body of.
  var type: PushType { get }

  /// The bytes to send.
  ///
  /// - Throws: ``PayloadError`` that names the rule that it breaks, the limit of its size among
  ///   them.
  func encoded() throws(PayloadError) -> [UInt8]
}

/// A push that keeps Apple's rules, ready to be sent to any number of devices.
public struct Push: Sendable {
  /// Everything but the body: what APNs reads in the head of the request.
  public let options: PushOptions
  /// The bytes of the body.
  public let payload: [UInt8]

  /// - Parameters:
  ///   - priority: nil for the type's usual one: 5 for background pushes, 10 for others.
  ///   - expiration: nil for the type's usual one: 30 days, and none for calls.
  ///   - collapseID: replaces what is displayed of earlier pushes with the same one; at most 64
  ///     bytes of UTF-8.
  ///   - topic: for ``PushType/mdm``, and only for that.
  /// - Throws: ``PayloadError`` or ``PushRuleError``, which say what to change.
  public init(
    _ payload: some PushPayload, priority: PushPriority? = nil, expiration: PushExpiration? = nil,
    collapseID: String? = nil, topic: String? = nil
  ) throws {
    options = try PushOptions(
      payload.type, priority: priority, expiration: expiration, collapseID: collapseID,
      topic: topic)
    self.payload = try payload.encoded()
  }
}

/// A push and the device that it is for.
public struct AddressedPush: Sendable {
  /// What to send.
  public var push: Push
  /// Where to.
  public var token: DeviceToken
  /// The push's `apns-id`: a UUID in lower case, or nil to have one made.
  public var id: String?

  /// - Parameter id: a UUID in lower case, which comes back in the answer; made when nil.
  public init(_ push: Push, to token: DeviceToken, id: String? = nil) {
    self.push = push
    self.token = token
    self.id = id
  }
}

extension APNsClient {
  /// Sends one push to one device.
  ///
  /// - Parameters:
  ///   - id: a UUID in lower case, which comes back in the answer; made here when nil.
  ///   - deadline: real time for everything, the wait for a connection included.
  public func push(
    _ push: Push, to token: DeviceToken, id: String? = nil, deadline: Duration = .seconds(10)
  ) async -> PushResult {
    if let failure = fault(push.options.type, bytes: push.payload.count, id: id) {
      return .notSent(failure)
    }
    let values = push.options.values(to: token, id: id ?? requestIDs.next())
    return PushResult(
      await exchange.send(
        over: pushes, template(of: push.options.shape), values: values, body: push.payload,
        deadline: loop.now + deadline, retries: configuration.pushRetries))
  }

  /// Sends one push to many devices, with one wait for all of them.
  ///
  /// - Parameter deadline: real time for the whole batch; what was not sent by then is
  ///   ``PushResult/notSent(_:)``.
  /// - Returns: a result for each token, in their order.
  public func push(
    _ push: Push, to tokens: [DeviceToken], deadline: Duration = .seconds(30)
  ) async -> [PushResult] {
    await self.push(
      template(push.options), to: tokens, payload: push.payload, deadline: deadline)
  }

  /// Sends many different pushes, with one wait for all of them.
  ///
  /// - Parameter deadline: real time for the whole batch; what was not sent by then is
  ///   ``PushResult/notSent(_:)``.
  /// - Returns: a result for each push, in their order.
  public func push(
    _ items: [AddressedPush], deadline: Duration = .seconds(30)
  ) async -> [PushResult] {
    let until = loop.now + deadline
    var results = [PushResult?](repeating: nil, count: items.count)
    var groups: [PushShape: [Int]] = [:]
    for (index, item) in items.enumerated() {
      let push = item.push
      if let failure = fault(push.options.type, bytes: push.payload.count, id: item.id) {
        results[index] = .notSent(failure)
      } else {
        groups[push.options.shape, default: []].append(index)
      }
    }
    for (shape, indices) in groups {
      let requests = indices.map { index in
        let item = items[index]
        let id = item.id ?? requestIDs.next()
        return BatchItem(
          values: item.push.options.values(to: item.token, id: id), body: item.push.payload)
      }
      let answers = await exchange.sendAll(
        over: pushes, template(of: shape), requests, deadline: until,
        retries: configuration.pushRetries)
      for (index, answer) in zip(indices, answers) { results[index] = PushResult(answer) }
    }
    return results.compactMap { $0 }
  }

  private func template(of shape: PushShape) -> CachedTemplate {
    if let known = shapes[shape] { return known }
    let made = shape.template(app: app.bundleID, authority: pushAuthority)
    shapes[shape] = made
    return made
  }
}

/// What pushes have in common whose heads differ in values only. There are few of these, whatever
/// collapse IDs and expirations a caller uses.
struct PushShape: Hashable, Sendable {
  let type: PushType
  let priority: PushPriority
  /// Of ``PushType/mdm``.
  let ownTopic: String?
  let hasExpiration: Bool
  let hasCollapseID: Bool
}

extension PushShape {
  /// The head of such pushes. What differs from one to the next stays out of the table by which
  /// HTTP/2 abbreviates fields, as Apple asks: it would push out what comes again.
  func template(app: BundleID, authority: String) -> CachedTemplate {
    var volatile = ["apns-id"]
    if hasExpiration { volatile.append("apns-expiration") }
    if hasCollapseID { volatile.append("apns-collapse-id") }
    let topic = ownTopic ?? app.text + type.topicSuffix
    return .ofPushes(
      authority: authority,
      fields: [
        "apns-topic": topic, "apns-push-type": type.rawValue, "apns-priority": priority.text,
      ],
      volatile: volatile)
  }
}

extension PushOptions {
  var shape: PushShape {
    PushShape(
      type: type, priority: priority, ownTopic: ownTopic, hasExpiration: expiration.text != nil,
      hasCollapseID: collapseID != nil)
  }

  /// The values of one push's head, in the order of its shape's template.
  func values(to token: DeviceToken, id: String) -> FieldValues {
    var values: FieldValues = [token.path, id]
    if let text = expiration.text { values.append(text) }
    if let collapseID { values.append(collapseID) }
    return values
  }
}
