import APNs
import CLinux
import Clocks
import Glibc
import JSON
import Synchronization
package import Transport

/// Drives the push engine through one workload, in a process of its own.
package final class EngineDriver: Sendable {
  /// How many pushes are handed over in one call.
  static let batch = 10_000

  private let workload: Workload
  private let client: APNsClient
  private let push: Push
  private let tokens: [DeviceToken]
  private let loop: EventLoop
  private let cursor = Atomic<Int>(0)
  private let warmHeap = Atomic<Int>(0)
  private let lastHeap = Atomic<Int>(0)
  /// Of a run at a given rate, whose tasks have nobody to return theirs to.
  private let counts = Mutex(Counts())

  /// - Parameters:
  ///   - port: of a server on the loopback interface.
  ///   - trustFile: the certificate that it must show.
  /// - Throws: when the certificate cannot be read.
  package init(
    _ workload: Workload, port: Int, trustFile: String, on loop: EventLoop
  ) async throws {
    self.workload = workload
    self.loop = loop
    let server = APNsHost(
      name: "localhost", port: port, endpoint: .tcp(host: "127.0.0.1", port: port))
    var configuration = APNsClientConfiguration()
    configuration.pushes.maxConnections = 1
    configuration.pushes.http.maxInFlight = workload.width
    let clock = ServiceClock()
    client = try APNsClient(
      app: APNsApp(
        bundleID: BundleID(BenchRequest.bundleID), environment: .development),
      hosts: APNsHosts(push: server, management: server, trust: .file(trustFile)),
      credentials: .token(ProviderCredentials(key: try BenchRequest.makeKey(), clock: clock)),
      clock: clock, configuration: configuration, loop: loop)
    push = try Push(
      try RawPayload(JSONText(validating: BenchRequest.body), for: .liveActivity),
      priority: .immediate,
      expiration: .attemptOnce)
    tokens = BenchTokens.make(halfBad: workload.halfBad).compactMap { DeviceToken($0) }
  }

  /// Sends everything and waits for all answers.
  package func run(_ contender: Contender) async -> EngineRun {
    let began = MonotonicClock.now()
    let counts =
      switch (contender, workload.demand) {
      case (.batch, .inFlight): await sendBatches()
      case (_, .inFlight(let width)): await sendFromWorkers(width, contender)
      case (_, .perSecond(let rate)): await sendOnTime(rate, contender)
      }
    var run = EngineRun()
    run.seconds = (MonotonicClock.now() - began).inSeconds
    run.accepted = counts.accepted
    run.refused = counts.refused
    run.failed = counts.failed
    run.firstFailure = counts.firstFailure
    run.warmHeapBytes = warmHeap.load(ordering: .relaxed)
    run.lastHeapBytes = lastHeap.load(ordering: .relaxed)
    run.peakBytes = Self.peakBytes
    await client.close(grace: .zero)
    return run
  }

  private struct Counts: Sendable {
    var accepted = 0
    var refused = 0
    var failed = 0
    var firstFailure = ""

    mutating func add(_ result: PushResult) {
      switch result {
      case .accepted: accepted += 1
      case .refused: refused += 1
      case .notSent(let failure), .unknown(let failure):
        failed += 1
        if firstFailure.isEmpty { firstFailure = failure.description }
      }
    }

    static func + (left: Counts, right: Counts) -> Counts {
      Counts(
        accepted: left.accepted + right.accepted, refused: left.refused + right.refused,
        failed: left.failed + right.failed,
        firstFailure: left.firstFailure.isEmpty ? right.firstFailure : left.firstFailure)
    }
  }

  // MARK: As fast as it goes

  /// As many tasks as requests may be open, each with one push at a time.
  private func sendFromWorkers(_ width: Int, _ contender: Contender) async -> Counts {
    await withTaskGroup(of: Counts.self) { group in
      for _ in 0..<width {
        let executor: any TaskExecutor =
          contender == .elsewhere ? globalConcurrentExecutor : loop.tasks
        group.addTask(executorPreference: executor) { await self.work() }
      }
      return await group.reduce(Counts(), +)
    }
  }

  private func work() async -> Counts {
    var counts = Counts()
    while let number = takeNumber() { counts.add(await push(number)) }
    return counts
  }

  private func sendBatches() async -> Counts {
    var counts = Counts()
    while let items = takeBatch(Self.batch) {
      for result in await client.push(push, to: items) { counts.add(result) }
    }
    return counts
  }

  // MARK: At a given rate

  /// Requests come in portions, as those of h2load do: what is due is looked up every 10 ms.
  private func sendOnTime(_ rate: Int, _ contender: Contender) async -> Counts {
    let began = MonotonicClock.now()
    // One that keeps no results: a group that did would keep every task until it is asked for them.
    await withDiscardingTaskGroup { group in
      var sent = 0
      while sent < workload.requests {
        let passed = (MonotonicClock.now() - began).inSeconds
        let due = min(workload.requests, Int(passed * Double(rate)))
        if contender == .batch, due > sent, let items = takeBatch(due - sent) {
          group.addTask(executorPreference: loop.tasks) {
            let results = await self.client.push(self.push, to: items)
            self.counts.withLock { for result in results { $0.add(result) } }
          }
        } else {
          for _ in sent..<due {
            group.addTask(executorPreference: loop.tasks) {
              guard let number = self.takeNumber() else { return }
              let result = await self.push(number)
              self.counts.withLock { $0.add(result) }
            }
          }
        }
        sent = due
        try? await loop.sleep(for: .milliseconds(10))
      }
    }
    return counts.withLock { $0 }
  }

  // MARK: Requests

  private func push(_ number: Int) async -> PushResult {
    await client.push(push, to: tokens[number % tokens.count])
  }

  /// - Returns: nil when all were taken.
  private func takeNumber() -> Int? {
    let number = cursor.wrappingAdd(1, ordering: .relaxed).oldValue
    guard number < workload.requests else { return nil }
    if number == workload.requests / 5 { note(warmHeap) }
    if number == workload.requests - 1 { note(lastHeap) }
    return number
  }

  private func takeBatch(_ most: Int) -> [DeviceToken]? {
    let first = cursor.load(ordering: .relaxed)
    let end = min(first + most, workload.requests)
    guard first < end else { return nil }
    cursor.store(end, ordering: .relaxed)
    if first <= workload.requests / 5, end > workload.requests / 5 { note(warmHeap) }
    if end == workload.requests { note(lastHeap) }
    return (first..<end).map { tokens[$0 % tokens.count] }
  }

  private func note(_ heap: borrowing Atomic<Int>) {
    heap.store(Int(clinux_heap_bytes_in_use()), ordering: .relaxed)
  }

  /// `VmHWM` of this process.
  private static var peakBytes: Int {
    let status = Scratch.read("/proc/self/status") ?? ""
    let line = status.split(separator: "\n").first { $0.hasPrefix("VmHWM:") } ?? ""
    return (Int(line.split(separator: " ").dropFirst().first ?? "") ?? 0) * 1_024
  }
}
