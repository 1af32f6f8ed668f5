public import Foundation

/// Carries one request to the service and its answer back.
///
/// ``URLSessionTransport`` does; an app with a network stack of its own brings another.
public protocol FieldcastTransport: Sendable {
  /// - Throws: when there is no answer; cancellation of the task ends the request.
  func send(_ request: FieldcastRequest) async throws -> FieldcastResponse
}

public struct FieldcastRequest: Hashable, Sendable {
  public var method: String
  public var url: URL
  public var fields: [String: String]
  public var body: Data?
  /// Seconds without an answer after which the request has failed.
  public var timeout: TimeInterval

  public init(
    method: String, url: URL, fields: [String: String] = [:], body: Data? = nil,
    timeout: TimeInterval = 15
  ) {
    self.method = method
    self.url = url
    self.fields = fields
    self.body = body
    self.timeout = timeout
  }
}

public struct FieldcastResponse: Hashable, Sendable {
  public var status: Int
  private var fields: [String: String]
  public var body: Data

  public init(status: Int, fields: [String: String] = [:], body: Data = Data()) {
    self.status = status
    self.fields = Dictionary(
      fields.map { ($0.lowercased(), $1) }, uniquingKeysWith: { first, _ in first })
    self.body = body
  }

  /// A header field, in whatever case its name came.
  public subscript(_ name: String) -> String? { fields[name.lowercased()] }
}
