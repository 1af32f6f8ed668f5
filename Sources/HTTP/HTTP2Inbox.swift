import Glibc

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
  /// The head of the request before, whose texts the next one probably repeats.
  private var previous = HTTPRequest(method: "", scheme: "", path: "")
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
    guard name.first == UInt8(ascii: ":") else {
      let position = exchanges[index].request.fields.count
      exchanges[index].request.fields.append(field(position, name, value))
      return
    }
    // nghttp2 lets only the four registered ones pass.
    switch name.count {
    case ":path".utf8.count: set(\.path, index, value)
    case ":method".utf8.count:
      // As long as `:scheme`, and told apart by its second letter.
      set(name[1] == UInt8(ascii: "m") ? \.method : \.scheme, index, value)
    default: set(\.authority, index, value)
    }
  }

  /// Requests of one client are much alike, field by field: where a text is the same as in the
  /// request before, that one's is taken, which costs a comparison and no memory.
  private func field(
    _ position: Int, _ name: UnsafeBufferPointer<UInt8>, _ value: UnsafeBufferPointer<UInt8>
  ) -> HTTPFields.Field {
    guard position < previous.fields.count else {
      return HTTPFields.Field(
        name: String(decoding: name, as: UTF8.self), value: String(decoding: value, as: UTF8.self))
    }
    let known = previous.fields.list[position]
    return HTTPFields.Field(
      name: Self.text(name, perhaps: known.name), value: Self.text(value, perhaps: known.value))
  }

  private mutating func set(
    _ part: WritableKeyPath<HTTPRequest, String>, _ index: Int,
    _ value: UnsafeBufferPointer<UInt8>
  ) {
    exchanges[index].request[keyPath: part] = Self.text(value, perhaps: previous[keyPath: part])
  }

  private static func text(_ bytes: UnsafeBufferPointer<UInt8>, perhaps known: String) -> String {
    var known = known
    let isKnown = known.withUTF8 { text in
      text.count == bytes.count
        && (text.isEmpty || memcmp(text.baseAddress!, bytes.baseAddress!, text.count) == 0)
    }
    return isKnown ? known : String(decoding: bytes, as: UTF8.self)
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
    previous = request
    previous.body = []
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
