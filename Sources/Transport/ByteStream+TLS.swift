package import Clocks

extension ByteStream {
  /// Speaks TLS from here on, as the client, and waits for the end of the handshake; may be called
  /// on any thread.
  ///
  /// - Parameter deadline: a moment of the machine's monotonic clock.
  /// - Throws: also when the task is cancelled. The stream is over then.
  package func startTLS(
    client context: TLSClientContext, serverName: String, deadline: Moment
  ) async throws(StreamError) {
    let result: Result<Void, StreamError> = await withTaskCancellationHandler {
      await withUnsafeContinuation { continuation in
        loop.execute {
          self.beginTLS(TLSSession(client: context, serverName: serverName), deadline: deadline) {
            continuation.resume(returning: $0)
          }
        }
        // A cancellation from before has found no handshake.
        if Task.isCancelled { loop.execute { self.cancelHandshake() } }
      }
    } onCancel: {
      loop.execute { self.cancelHandshake() }
    }
    try result.get()
  }
}
