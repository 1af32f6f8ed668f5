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

  /// A push whose body was encoded elsewhere; its size is looked at when it is sent.
  package init(_ options: PushOptions, payload: [UInt8]) {
    self.options = options
    self.payload = payload
  }
}

/// A push and the device that it is for.
public struct AddressedPush: Sendable {
  /// What to send.
  public var push: Push
  /// Where to.
  public var token: DeviceToken
  /// The push's `apns-id`: a UUID in lower case, or nil to have APNs make one.
  public var id: String?

  /// - Parameter id: a UUID in lower case, which comes back in the answer; APNs makes one when nil.
  public init(_ push: Push, to token: DeviceToken, id: String? = nil) {
    self.push = push
    self.token = token
    self.id = id
  }
}

extension APNsClient {
  /// Sends one push to one device.
  ///
  /// It waits for the answer alone where it is called from a task that prefers ``executor``, and
  /// works as well, at more cost, from any other.
  ///
  /// - Parameters:
  ///   - id: a UUID in lower case, which comes back in the answer; APNs makes one when nil.
  ///   - deadline: real time for everything, the wait for a connection included.
  public nonisolated func push(
    _ push: Push, to token: DeviceToken, id: String? = nil, deadline: Duration = .seconds(10)
  ) async -> PushResult {
    if let failure = fault(push.options.type, bytes: push.payload.count, id: id) {
      return .notSent(failure)
    }
    return PushResult(
      await exchange.send(
        over: pushes, shapes.head(of: push.options, hasID: id != nil),
        values: push.options.values(to: token, id: id), body: push.payload,
        deadline: loop.nowFromAnyThread + deadline, retries: configuration.pushRetries))
  }

  /// Sends one push to many devices, with one wait for all of them.
  ///
  /// - Parameter deadline: real time for the whole batch; what was not sent by then is
  ///   ``PushResult/notSent(_:)``.
  /// - Returns: a result for each token, in their order.
  public nonisolated func push(
    _ push: Push, to tokens: [DeviceToken], deadline: Duration = .seconds(30)
  ) async -> [PushResult] {
    let failure = fault(push.options.type, bytes: push.payload.count, id: nil)
    let batch = PushBatch(
      count: tokens.count, clock: exchange.clock, fault: { _ in failure },
      make: {
        BatchItem(values: push.options.values(to: tokens[$0], id: nil), body: push.payload)
      })
    await exchange.send(
      batch, over: pushes, shapes.head(of: push.options, hasID: false),
      deadline: loop.nowFromAnyThread + deadline, retries: configuration.pushRetries)
    return batch.results
  }

  /// Sends many different pushes, with one wait for all of them.
  ///
  /// - Parameter deadline: real time for the whole batch; what was not sent by then is
  ///   ``PushResult/notSent(_:)``.
  /// - Returns: a result for each push, in their order.
  public nonisolated func push(
    _ items: [AddressedPush], deadline: Duration = .seconds(30)
  ) async -> [PushResult] {
    let deadline = loop.nowFromAnyThread + deadline
    let groups = Dictionary(grouping: items.indices) { index in
      PushShape(items[index].push.options, hasID: items[index].id != nil)
    }
    let parts = groups.map { shape, numbers in
      BatchPart(
        head: shapes.head(of: shape), numbers: numbers,
        batch: PushBatch(count: numbers.count, clock: exchange.clock) {
          let item = items[numbers[$0]]
          return fault(item.push.options.type, bytes: item.push.payload.count, id: item.id)
        } make: {
          let item = items[numbers[$0]]
          return BatchItem(
            values: item.push.options.values(to: item.token, id: item.id), body: item.push.payload)
        })
    }
    return await send(parts, count: items.count, deadline: deadline)
  }
}
