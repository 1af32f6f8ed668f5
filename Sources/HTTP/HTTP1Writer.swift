/// Puts heads of HTTP/1.1 messages into bytes.
enum HTTP1Writer {
  /// An answer, whole.
  ///
  /// - Parameters:
  ///   - date: the value of the `date` field.
  ///   - withBody: false for the answer to HEAD, which tells the length and sends nothing.
  ///   - closes: whether the connection ends with it.
  static func response(
    _ response: HTTPResponse, date: String, withBody: Bool, closes: Bool
  ) -> [UInt8] {
    var fields = response.fields
    fields["connection"] = closes ? "close" : nil
    fields["transfer-encoding"] = nil
    let mayHaveBody = response.status != 204 && response.status != 304
    fields["content-length"] = mayHaveBody ? String(response.body.count) : nil
    var bytes = head(response.status, fields, date: date)
    if withBody, mayHaveBody { bytes += response.body }
    return bytes
  }

  /// The head of an answer without a length, which ends with the connection.
  static func endlessHead(_ status: Int, _ fields: HTTPFields, date: String) -> [UInt8] {
    var fields = fields
    fields["connection"] = "close"
    return head(status, fields, date: date)
  }

  /// A request, whole. Fields that tell the length are ours.
  ///
  /// - Returns: nil when a part of it may not travel.
  static func request(_ request: HTTPRequest) -> [UInt8]? {
    guard HTTP1Syntax.isToken(request.method.utf8), HTTP1Syntax.isHost(request.authority),
      !request.path.isEmpty, request.path.utf8.allSatisfy({ HTTP1Syntax.target[Int($0)] }),
      request.fields.allSatisfy(HTTP1Syntax.mayTravel)
    else { return nil }
    var bytes = Array("\(request.method) \(request.path) HTTP/1.1\r\n".utf8)
    var fields = request.fields
    fields["host"] = nil
    fields["transfer-encoding"] = nil
    fields["content-length"] = nil
    append("host", request.authority, to: &bytes)
    for field in fields { append(field.name, field.value, to: &bytes) }
    if !request.body.isEmpty || ["POST", "PUT", "PATCH"].contains(request.method) {
      append("content-length", String(request.body.count), to: &bytes)
    }
    bytes += [0x0d, 0x0a]
    return bytes + request.body
  }

  static let continueLine = Array("HTTP/1.1 100 Continue\r\n\r\n".utf8)

  private static func head(_ status: Int, _ fields: HTTPFields, date: String) -> [UInt8] {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(256)
    bytes += "HTTP/1.1 \(status) \(HTTPStatus.phrase(status))\r\n".utf8
    append("date", date, to: &bytes)
    for field in fields { append(field.name, field.value, to: &bytes) }
    bytes += [0x0d, 0x0a]
    return bytes
  }

  private static func append(_ name: String, _ value: String, to bytes: inout [UInt8]) {
    bytes += name.utf8
    bytes += [0x3a, 0x20]
    bytes += value.utf8
    bytes += [0x0d, 0x0a]
  }
}
