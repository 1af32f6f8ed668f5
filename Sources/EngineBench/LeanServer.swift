internal import HTTP
package import Transport

/// A server that costs next to nothing, so that the client is what a benchmark measures.
///
/// It answers each request with 200 and a fresh `apns-id` and looks at no more of it than its
/// frames; where some tokens are to be bad it decodes the heads too.
package struct LeanServer: Sendable {
  package struct Configuration: Sendable {
    /// How long an answer takes.
    package var answersAfter: Duration = .zero
    /// Refuses tokens as ``BenchTokens`` makes the bad ones.
    package var knowsBadTokens = false
    package var maxConcurrentStreams: UInt32 = 1_000

    package init() {}
  }

  /// Where it listens, on the loopback interface.
  package let port: Int

  /// Listens until the process ends.
  package static func start(
    _ configuration: Configuration, identity: TLSIdentity, on loop: EventLoop
  ) async throws -> LeanServer {
    let tls = try TLSServerContext(identity: identity, alpn: ["h2"])
    let listener = try await StreamListener.bind(
      .tcp(host: "127.0.0.1", port: 0), tls: tls, on: loop
    ) { stream in
      // The stream holds its handler as long as it is open.
      stream.start(LeanServerConnection(stream, configuration))
    }
    return LeanServer(port: listener.port)
  }
}
