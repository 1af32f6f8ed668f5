internal import FieldcastServer
import Foundation
internal import Transport

/// Where the spans of callers' traces go.
extension ServiceOptions {
  static let collector = Option<String?>.text(
    "trace-collector", "URL", environment: "FIELDCAST_TRACE_COLLECTOR",
    help: """
      An OpenTelemetry collector that takes OTLP over HTTP, such as http://127.0.0.1:4318. It gets \
      the spans of triggers that come with a sampled traceparent. Without it, nobody does.
      """)

  static func traceCollector(
    from arguments: ParsedArguments
  ) throws(CommandFailure) -> TraceCollector? {
    guard let text = arguments[collector] else { return nil }
    guard let url = URLComponents(string: text), let host = url.host, !host.isEmpty,
      url.scheme == "http" || url.scheme == "https", url.user == nil, url.query == nil,
      url.fragment == nil
    else {
      throw CommandFailure(
        .configuration,
        "--\(collector.spec.name) \(ConfigShowCommand.masked(text)): expected http:// or https://, a host, and perhaps a "
          + "port and a path, as http://127.0.0.1:4318.")
    }
    let isSecure = url.scheme == "https"
    let name = host.trimmingCharacters(in: CharacterSet(charactersIn: "[]"))
    let tls: TLSClientContext?
    do throws(TLSConfigurationError) {
      tls = isSecure ? try TLSClientContext(trust: .system, alpn: ["http/1.1"]) : nil
    } catch {
      throw CommandFailure(.configuration, "Spans cannot be sent to \(text): \(error)")
    }
    let path = url.percentEncodedPath
    return TraceCollector(
      endpoint: .tcp(host: name, port: url.port ?? (isSecure ? 443 : 80)), tls: tls,
      authority: url.port.map { "\(host):\($0)" } ?? host,
      path: path.isEmpty || path == "/" ? "/v1/traces" : path)
  }
}
