package import Transport

/// Where spans go: a collector that takes OTLP over HTTP as JSON.
package struct TraceCollector: Sendable {
  package var endpoint: Endpoint
  /// Nil speaks plain HTTP.
  package var tls: TLSClientContext?
  /// The host, with its port where it is not the scheme's own.
  package var authority: String
  package var path: String

  package init(endpoint: Endpoint, tls: TLSClientContext?, authority: String, path: String) {
    self.endpoint = endpoint
    self.tls = tls
    self.authority = authority
    self.path = path
  }
}
