/// Works off batches several at once, and yet what goes by one lane in its order.
///
/// A batch is split by lanes. On a lane no part begins before the one before it has ended, however
/// often that had to be tried again; parts of different lanes, and the ends of batches, wait for
/// nobody. So whoever does the work always has some waiting, while answers are read and the next
/// batch is made ready.
enum Lanes {
  /// - Parameters:
  ///   - count: how many lanes there are.
  ///   - mostBatches: so many may be under way; one more is fetched meanwhile.
  ///   - next: waits for a batch and makes it ready; nil when there will be none.
  ///   - split: a batch's parts, at most one a lane; lanes are 0 ..< `count`.
  ///   - work: takes one part in.
  ///   - finish: ends a batch of which all parts are taken in, with what they returned.
  /// - Returns: when all that came is finished, or something was cut off by cancellation: then
  ///   nothing behind it on its lane has begun.
  static func run<Batch: Sendable, Part: Sendable, Outcome: Sendable>(
    _ count: Int, mostBatches: Int, next: () async -> Batch?,
    split: (Batch) -> [(lane: Int, part: Part)],
    work: @escaping @Sendable (Part) async throws(CancellationError) -> Outcome,
    finish: @escaping @Sendable (Batch, [Outcome]) async throws(CancellationError) -> Void
  ) async {
    let lanes = (0..<count).map { _ in Lane() }
    await withTaskGroup(of: Bool.self) { group in
      var underWay = 0
      while let batch = await next() {
        if underWay == mostBatches {
          guard await group.next() == true else { return }
          underWay -= 1
        }
        // Taken here, and so in the order of the batches.
        let parts = split(batch).map { (lanes[$0.lane], lanes[$0.lane].takePlace(), $0.part) }
        group.addTask {
          guard let outcomes = await takeIn(parts, work) else { return false }
          do throws(CancellationError) { try await finish(batch, outcomes) } catch { return false }
          return true
        }
        underWay += 1
      }
    }
  }

  /// - Returns: nil when one was cut off.
  private static func takeIn<Part: Sendable, Outcome: Sendable>(
    _ parts: [(Lane, Int, Part)],
    _ work: @escaping @Sendable (Part) async throws(CancellationError) -> Outcome
  ) async -> [Outcome]? {
    await withTaskGroup(of: Outcome?.self) { group in
      for (lane, place, part) in parts {
        group.addTask {
          guard await lane.turn(of: place) else { return nil }
          do throws(CancellationError) {
            let outcome = try await work(part)
            lane.leave()
            return outcome
          } catch {
            lane.close()
            return nil
          }
        }
      }
      var outcomes: [Outcome] = []
      for await outcome in group { if let outcome { outcomes.append(outcome) } }
      return outcomes.count == parts.count ? outcomes : nil
    }
  }
}
