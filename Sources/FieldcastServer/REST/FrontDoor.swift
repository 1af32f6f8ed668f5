internal import Clocks
internal import HTTP
internal import Synchronization
internal import Transport

/// Answers on REST's address from the first moment on, also while the rest of the service is still
/// being put together: that it lives, and for everything else 503.
final class FrontDoor: Sendable {
  private let router = Mutex<Router?>(nil)
  private let times: StageTimes

  init(times: StageTimes) { self.times = times }

  /// - Throws: when the address is taken, or not this machine's.
  ///
  /// - Parameters:
  ///   - tls: nil speaks plain.
  ///   - limits: what clients may take; the rest of it is set here.
  func serve(
    at endpoint: Endpoint, tls: TLSServerContext?, limits: HTTPServerConfiguration,
    on loop: EventLoop
  ) async throws(SystemError) -> HTTPServer {
    var configuration = limits
    configuration.bodyLimit = { [self] in present?.bodyLimit(for: $0) ?? Routes.smallBody }
    configuration.refusal = { ProblemDocument(status: $0, detail: $1).response }
    return try await HTTPServer.start(
      on: endpoint, tls: tls, configuration: configuration, loop: loop
    ) { [self] in
      guard let router = present else {
        return .response($0.path == "/healthz" ? Readiness.alive : Self.starting)
      }
      let began = MonotonicClock.now()
      let reply = await router.handle($0, $1)
      times.record(MonotonicClock.now() - began, in: .rest(reply.status))
      return reply
    }
  }

  /// From now on this router answers.
  func open(_ router: Router) { self.router.withLock { $0 = router } }

  private var present: Router? { router.withLock { $0 } }

  private static var starting: HTTPResponse {
    ProblemDocument(
      .starting, "It waits for Redis, or reads what is there. Ask again in a moment.", retryAfter: 1
    ).response
  }
}
