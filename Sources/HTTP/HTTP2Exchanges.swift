/// One request of an HTTP/2 client and what came back for it so far.
struct Exchange {
  /// Kept until the head is written, which may be long after the request was submitted.
  var template: RequestTemplate?
  var values = FieldValues()
  var body: [UInt8] = []
  var bodyOffset = 0
  /// 0 until nghttp2 has been given the request.
  var streamID: Int32 = 0
  /// Whether the head was handed out to be written.
  var isWritten = false
  /// Whether the whole answer is here. The stream may still be open for our own body.
  var isComplete = false
  /// Whether we reset the stream: when nobody asked for it, nghttp2 found a fault in the answer.
  var wasResetByUs = false
  /// Whether we stopped taking the answer in, since it grew over the limit.
  var isTooLarge = false
  var status = 0
  var fields = HTTPFields()
  var fieldBytes = 0
  var responseBody: [UInt8] = []

  mutating func begin(_ template: RequestTemplate, _ values: FieldValues, _ body: [UInt8]) {
    self.template = template
    self.values = values
    self.body = body
  }

  /// The answer as it came; it is no longer here afterwards.
  mutating func takeResponse() -> HTTPResponse {
    var response = HTTPResponse(status: status)
    swap(&response.fields, &fields)
    swap(&response.body, &responseBody)
    return response
  }

  /// Leaves the slot as if it were new; what was handed out has gone with its outcome.
  mutating func end() {
    template = nil
    body = []
    bodyOffset = 0
    streamID = 0
    isWritten = false
    isComplete = false
    wasResetByUs = false
    isTooLarge = false
    status = 0
    fieldBytes = 0
    if values.count > 0 { values = FieldValues() }
    if !fields.isEmpty { fields.removeAll() }
    if !responseBody.isEmpty { responseBody = [] }
  }
}

/// How much of an answer a client takes in.
package struct ResponseLimits: Sendable, Hashable {
  /// Bytes of the body. Apple's longest answer is the list of an app's 10,000 channels.
  package var bodyBytes = 1 << 20
  package var fields = 64
  /// Bytes of all names and values together.
  package var fieldBytes = 16_384

  package init() {}
}

/// What the callbacks of a client's session note down: a slab of exchanges, and events.
///
/// A stream's user data in nghttp2 is the index of its exchange plus one, so that a callback finds
/// it without a dictionary. Slots of closed exchanges are used again.
struct ExchangeNotes {
  private(set) var exchanges = Slab(Exchange())
  var events: [HTTP2ClientSession.Event] = []
  /// Exchanges whose stream is closed, with HTTP/2's error code, in order.
  var closed: [(index: Int, errorCode: UInt32)] = []
  /// Exchanges whose whole answer is here before our own body was sent.
  var early: [Int] = []
  /// Exchanges whose answer grew too large, to be reset.
  var oversized: [Int] = []
  /// The exchange whose head is being received.
  var current: Int?
  /// The stream whose head came last, as long as it is open; 0 for none.
  var latest: (streamID: Int32, index: Int?) = (0, nil)
  /// What the peer said of its table of fields since the last look.
  var peersTableSizes: [UInt32] = []
  var goAway: GoAway?
  var fault: String?
  let limits: ResponseLimits

  init(limits: ResponseLimits) { self.limits = limits }

  mutating func allocate(
    _ template: RequestTemplate, _ values: FieldValues, _ body: [UInt8]
  ) -> Int {
    let index = exchanges.take()
    exchanges[index].begin(template, values, body)
    return index
  }

  mutating func release(_ index: Int) {
    exchanges[index].end()
    exchanges.giveBack(index)
  }

  var inUse: Int { exchanges.inUse }

  // What the callbacks call.

  mutating func headReceived(
    _ index: Int, name: UnsafeBufferPointer<UInt8>, value: UnsafeBufferPointer<UInt8>
  )
    -> Bool
  {
    if name.first == UInt8(ascii: ":") {
      // A new head: an informational answer's fields are not the final one's.
      exchanges[index].status = number(value)
      exchanges[index].fields.removeAll(keepingCapacity: true)
      exchanges[index].fieldBytes = 0
      return true
    }
    let bytes = exchanges[index].fieldBytes + name.count + value.count
    exchanges[index].fieldBytes = bytes
    guard bytes <= limits.fieldBytes, exchanges[index].fields.count < limits.fields else {
      oversized(index)
      return false
    }
    exchanges[index].fields.append(
      String(decoding: name, as: UTF8.self), String(decoding: value, as: UTF8.self))
    return true
  }

  mutating func bodyReceived(_ index: Int, _ bytes: UnsafeBufferPointer<UInt8>) {
    guard !exchanges[index].isTooLarge else { return }
    guard exchanges[index].responseBody.count + bytes.count <= limits.bodyBytes else {
      oversized(index)
      return
    }
    exchanges[index].responseBody.append(contentsOf: bytes)
  }

  /// Copies the next part of a request's body; the count, and whether it was the last.
  mutating func bodyWanted(_ index: Int, _ target: UnsafeMutableBufferPointer<UInt8>) -> (
    Int, isLast: Bool
  ) {
    let offset = exchanges[index].bodyOffset
    let count = min(target.count, exchanges[index].body.count - offset)
    let next = offset + count
    exchanges[index].body.withUnsafeBufferPointer { body in
      _ = target.update(fromContentsOf: body[offset..<next])
    }
    exchanges[index].bodyOffset = next
    return (count, next == exchanges[index].body.count)
  }

  private mutating func oversized(_ index: Int) {
    guard !exchanges[index].isTooLarge else { return }
    exchanges[index].isTooLarge = true
    exchanges[index].responseBody = []
    oversized.append(index)
  }

  private func number(_ digits: UnsafeBufferPointer<UInt8>) -> Int {
    // nghttp2 has checked that there are three digits.
    digits.reduce(0) { $0 * 10 + Int($1 & 15) }
  }
}
