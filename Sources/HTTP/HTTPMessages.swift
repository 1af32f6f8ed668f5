/// One request with its whole body.
package struct HTTPRequest: Sendable, Hashable {
  /// In upper case, as registered: `GET`, `POST`.
  package var method: String
  package var scheme: String
  /// The host, with the port where it is not the scheme's own.
  package var authority: String
  /// The path, and the query behind a `?` if there is one. Still percent-encoded.
  package var path: String
  package var fields: HTTPFields
  package var body: [UInt8]

  package init(
    method: String, scheme: String = "https", authority: String = "", path: String,
    fields: HTTPFields = [:], body: [UInt8] = []
  ) {
    self.method = method
    self.scheme = scheme
    self.authority = authority
    self.path = path
    self.fields = fields
    self.body = body
  }
}

/// One final answer with its whole body.
package struct HTTPResponse: Sendable, Hashable {
  package var status: Int
  package var fields: HTTPFields
  package var body: [UInt8]

  package init(status: Int, fields: HTTPFields = [:], body: [UInt8] = []) {
    self.status = status
    self.fields = fields
    self.body = body
  }

  /// The body as text, for messages to people: what is not UTF-8 is shown as U+FFFD.
  package var text: String { String(decoding: body, as: UTF8.self) }
}
