internal import CDocuments
internal import HTTP

/// `GET /openapi.json`: what this interface takes and answers, as an OpenAPI 3.1 document.
///
/// It is a file, so that people can read it as well; tests hold it against the routes, the answers
/// and the problems of a running service, both ways.
enum APIDescription {
  static let bytes: [UInt8] = {
    var count = 0
    let start = cdocuments_openapi(&count)
    return Array(UnsafeBufferPointer(start: start, count: count))
  }()

  static var response: HTTPResponse { .json(200, bytes, ["cache-control": "max-age=300"]) }
}
