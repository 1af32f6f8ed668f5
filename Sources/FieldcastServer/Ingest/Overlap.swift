/// Works off batches one after the other, and fetches the next one meanwhile.
///
/// A batch is read and parsed here and then appended by Redis. Done in turns, each side would wait
/// for the other half of the time; fetched ahead, the next batch is ready when Redis is. None begins
/// before the one before it has ended, however often that had to be tried again, so triggers enter
/// the log as they came.
enum Overlap {
  /// - Parameters:
  ///   - next: waits for a batch and makes it ready; nil when there will be none.
  ///   - work: takes one in.
  /// - Returns: when there will be none, or one was cut off by cancellation.
  static func run<Batch: Sendable>(
    next: () async -> Batch?,
    work: @escaping @Sendable (Batch) async throws(CancellationError) -> Void
  ) async {
    await withTaskGroup(of: Bool.self) { group in
      var isWorking = false
      while let batch = await next() {
        if isWorking, await group.next() != true { return }
        group.addTask {
          do throws(CancellationError) { try await work(batch) } catch { return false }
          return true
        }
        isWorking = true
      }
    }
  }
}
