internal import HTTP
internal import Transport

/// One provider's connection. Confined to the loop, like the connection that it wraps; what
/// happens to it is decided by the ``RunningSimulator``.
///
/// `@unchecked Sendable` is right because it is only touched on the loop: by the connection's
/// callbacks and by the simulator, whose executor is the loop.
final class ServedConnection: @unchecked Sendable, HTTP2ServerDelegate {
  let number: Int
  let port: SimulatedPort
  private weak var simulator: RunningSimulator?
  private(set) var http: HTTP2ServerConnection?
  var memory: ConnectionMemory
  /// The highest stream that was processed, and the highest that came.
  var processedStream: Int32 = 0
  var newestStream: Int32 = 0
  /// Streams above it are not processed any more.
  var lastStream: Int32?
  var idleTimer: LoopTimer?
  var plan: FaultPlan.Connection
  /// Of this connection alone; nil: those of all.
  var faults: SimulatorFaults?
  /// While it is stalled, what came is done later.
  var isStalled = false
  var held: [() -> Void] = []

  init(
    number: Int, port: SimulatedPort, simulator: RunningSimulator, memory: ConnectionMemory,
    plan: FaultPlan.Connection
  ) {
    self.number = number
    self.port = port
    self.simulator = simulator
    self.memory = memory
    self.plan = plan
  }

  func serve(_ stream: ByteStream, bodyLimitBytes: Int) {
    var configuration = HTTP2ServerConfiguration()
    configuration.settings = [
      .maxConcurrentStreams(UInt32(memory.maxConcurrentStreams))
    ]
    configuration.limits.bodyBytes = bodyLimitBytes
    configuration.opensWindows = plan.opensWindows
    http = HTTP2ServerConnection(stream, configuration: configuration, delegate: self)
  }

  /// The first step of a graceful end: nothing is denied yet.
  func announceGoAway(_ reason: String) {
    http?.goAway(
      lastStreamID: .max, errorCode: HTTP2ErrorCode.noError,
      debugData: Array("{\"reason\":\"\(reason)\"}".utf8))
  }

  /// Says GOAWAY with a reason in its debug data, as Apple does.
  ///
  /// - Parameter wanted: the last stream that is processed; nil for the newest one. It never rises:
  ///   what was denied once stays so.
  func goAway(_ reason: String, lastStream wanted: Int32?) {
    let last = min(wanted ?? newestStream, lastStream ?? .max)
    lastStream = last
    http?.goAway(
      lastStreamID: last, errorCode: HTTP2ErrorCode.noError,
      debugData: Array("{\"reason\":\"\(reason)\"}".utf8))
  }

  func connection(
    _ connection: HTTP2ServerConnection, received request: HTTPRequest, stream: Int32
  ) {
    simulator?.assumeIsolated { $0.received(request, stream: stream, on: self) }
  }

  func connectionClosed(_ connection: HTTP2ServerConnection, reason: String) {
    simulator?.assumeIsolated { $0.closed(self, reason: reason) }
  }
}
