internal import Redis
internal import Transport

/// Acknowledges a stream's entries, those of many batches together: nobody waits for it, and each
/// acknowledgement costs Redis as much for one entry as for a hundred.
actor Acknowledgements {
  nonisolated var unownedExecutor: UnownedSerialExecutor {
    loop.serial.asUnownedSerialExecutor()
  }

  /// What ends within such a time is acknowledged together. Of a node that dies before it, the
  /// entries are handed out again and count as duplicates.
  private static let gathering = Duration.milliseconds(10)

  private nonisolated let loop: EventLoop
  private let acknowledge: @Sendable ([StreamID]) async -> Void
  private var waiting: [StreamID] = []
  private var isClosed = false
  private var worker: UnsafeContinuation<Void, Never>?

  init(loop: EventLoop, acknowledge: @escaping @Sendable ([StreamID]) async -> Void) {
    self.loop = loop
    self.acknowledge = acknowledge
  }

  /// These entries are done with.
  func add(_ ids: [StreamID]) {
    waiting += ids
    wake()
  }

  /// Nothing more will come.
  func close() {
    isClosed = true
    wake()
  }

  /// Acknowledges what comes; returns when closed, and then with nothing left. Call once.
  func run() async {
    while true {
      if waiting.isEmpty {
        if isClosed { return }
        await withUnsafeContinuation { worker = $0 }
        continue
      }
      if !isClosed { try? await loop.sleep(for: Self.gathering) }
      let ids = waiting
      waiting = []
      await acknowledge(ids)
    }
  }

  private func wake() {
    worker?.resume()
    worker = nil
  }
}
