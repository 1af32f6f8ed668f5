/// How much of a request a server takes in.
package struct RequestLimits: Sendable, Hashable {
  /// Bytes of the body.
  package var bodyBytes = 65_536
  /// Regular fields, pseudo-header fields not counted.
  package var fields = 64
  /// Bytes of all names and values together, pseudo-header fields included.
  package var fieldBytes = 16_384

  package init() {}
}

/// One request that is coming in, and the answer's body that is going out.
struct ServerExchange {
  var streamID: Int32 = 0
  var request = HTTPRequest(method: "", scheme: "", path: "")
  var fieldBytes = 0
  /// Set once and for all when the request grew over a limit: the status to refuse it with.
  var refusal: Int?
  /// Whether the whole request was handed on.
  var isDelivered = false
  var isAnswered = false
  var body: [UInt8] = []
  var bodyOffset = 0
  /// Whether the stream stays open when the body is out, as if more were to come.
  var withholdsEnd = false
}

/// What the callbacks of a server's session note down.
struct ServerNotes {
  var exchanges: [ServerExchange] = []
  var events: [HTTP2ServerSession.Event] = []
  /// Slots of requests that grew over a limit, to be refused by the session.
  var refused: [Int] = []
  /// The exchange whose head is being received; nil for trailers, which are let go.
  var current: Int?
  var fault: String?
  let limits: RequestLimits
  private var free: [Int] = []

  init(limits: RequestLimits) { self.limits = limits }

  mutating func allocate(_ streamID: Int32) -> Int {
    let index: Int
    if let last = free.popLast() {
      index = last
    } else {
      index = exchanges.count
      exchanges.append(ServerExchange())
    }
    exchanges[index].streamID = streamID
    return index
  }

  var openStreams: Int { exchanges.count - free.count }

  // What the callbacks call.

  mutating func fieldReceived(
    _ index: Int, name: UnsafeBufferPointer<UInt8>, value: UnsafeBufferPointer<UInt8>
  ) {
    guard exchanges[index].refusal == nil else { return }
    exchanges[index].fieldBytes += name.count + value.count
    guard exchanges[index].fieldBytes <= limits.fieldBytes,
      exchanges[index].request.fields.count < limits.fields
    else { return refuse(index, status: 431) }
    let text = String(decoding: value, as: UTF8.self)
    guard name.first == UInt8(ascii: ":") else {
      exchanges[index].request.fields.append(String(decoding: name, as: UTF8.self), text)
      return
    }
    switch String(decoding: name, as: UTF8.self) {
    case ":method": exchanges[index].request.method = text
    case ":scheme": exchanges[index].request.scheme = text
    case ":authority": exchanges[index].request.authority = text
    case ":path": exchanges[index].request.path = text
    default: break
    }
  }

  mutating func bodyReceived(_ index: Int, _ bytes: UnsafeBufferPointer<UInt8>) {
    guard exchanges[index].refusal == nil else { return }
    guard exchanges[index].request.body.count + bytes.count <= limits.bodyBytes else {
      return refuse(index, status: 413)
    }
    exchanges[index].request.body.append(contentsOf: bytes)
  }

  mutating func requestEnded(_ index: Int) {
    guard exchanges[index].refusal == nil else { return }
    exchanges[index].isDelivered = true
    var request = HTTPRequest(method: "", scheme: "", path: "")
    swap(&request, &exchanges[index].request)
    events.append(.requestReceived(request, streamID: exchanges[index].streamID))
  }

  mutating func streamClosed(_ index: Int, _ errorCode: UInt32) {
    if exchanges[index].isDelivered {
      events.append(.streamClosed(exchanges[index].streamID, errorCode: errorCode))
    }
    exchanges[index] = ServerExchange()
    free.append(index)
  }

  /// Copies the next part of an answer's body; the count, and whether it was the last.
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

  private mutating func refuse(_ index: Int, status: Int) {
    exchanges[index].refusal = status
    exchanges[index].request = HTTPRequest(method: "", scheme: "", path: "")
    refused.append(index)
  }
}
