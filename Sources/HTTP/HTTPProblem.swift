/// Answers that say what was wrong, in the form of RFC 9457.
package enum HTTPProblem {
  /// - Parameters:
  ///   - detail: a sentence for the one who sent the request: what was wrong, and what to do.
  package static func response(
    status: Int, detail: String, fields: HTTPFields = [:]
  ) -> HTTPResponse {
    var fields = fields
    fields["content-type"] = "application/problem+json"
    let body =
      #"{"type":"about:blank","title":"\#(escaped(HTTPStatus.phrase(status)))","status":\#(status),"#
      + #""detail":"\#(escaped(detail))"}"#
    return HTTPResponse(status: status, fields: fields, body: Array(body.utf8))
  }

  private static func escaped(_ text: String) -> String {
    var result = ""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "\"": result += "\\\""
      case "\\": result += "\\\\"
      case _ where scalar.value < 0x20: result += " "
      default: result.unicodeScalars.append(scalar)
      }
    }
    return result
  }
}

package enum HTTPStatus {
  /// What people call a status; for one without a name, its class.
  package static func phrase(_ status: Int) -> String {
    if let name = names[status] { return name }
    switch status {
    case ..<200: return "Informational"
    case ..<300: return "Success"
    case ..<400: return "Redirection"
    case ..<500: return "Client Error"
    default: return "Server Error"
    }
  }

  private static let names = [
    100: "Continue", 200: "OK", 201: "Created", 202: "Accepted", 204: "No Content",
    303: "See Other", 304: "Not Modified", 307: "Temporary Redirect", 308: "Permanent Redirect",
    400: "Bad Request", 401: "Unauthorized", 403: "Forbidden", 404: "Not Found",
    405: "Method Not Allowed", 406: "Not Acceptable", 408: "Request Timeout", 409: "Conflict",
    410: "Gone", 412: "Precondition Failed", 413: "Content Too Large",
    415: "Unsupported Media Type", 417: "Expectation Failed", 422: "Unprocessable Content",
    428: "Precondition Required", 429: "Too Many Requests",
    431: "Request Header Fields Too Large", 500: "Internal Server Error", 501: "Not Implemented",
    502: "Bad Gateway", 503: "Service Unavailable", 504: "Gateway Timeout",
    505: "HTTP Version Not Supported",
  ]
}
