import Clocks
import Testing

@testable import Transport

private actor Resident {
  let loop: EventLoop
  private(set) var visits = 0

  init(loop: EventLoop) { self.loop = loop }

  nonisolated var unownedExecutor: UnownedSerialExecutor {
    loop.serial.asUnownedSerialExecutor()
  }

  func visit() -> Bool {
    visits += 1
    return loop.isOnLoop
  }

  nonisolated func visitFromCallback() -> Bool { assumeIsolated { $0.visitsOnLoop() } }

  private func visitsOnLoop() -> Bool { loop.isOnLoop }
}

@Suite struct `The event loop` {
  @Test func `runs its actors and the tasks that prefer it`() async throws {
    let loop = try EventLoop(name: "test")
    defer { loop.stop() }
    let resident = Resident(loop: loop)
    #expect(await resident.visit())
    let onLoop = await Task(executorPreference: loop.tasks) {
      let before = loop.isOnLoop
      _ = await resident.visit()
      let resumed: Bool = await withUnsafeContinuation { continuation in
        loop.execute { continuation.resume(returning: loop.isOnLoop) }
      }
      async let child = loop.isOnLoop
      return await [before, resumed, child, loop.isOnLoop]
    }.value
    #expect(onLoop == [true, true, true, true])
  }

  @Test func `lets callbacks enter an actor that lives on it`() async throws {
    let loop = try EventLoop(name: "test")
    defer { loop.stop() }
    let resident = Resident(loop: loop)
    let entered: Bool = await withUnsafeContinuation { continuation in
      loop.execute { continuation.resume(returning: resident.visitFromCallback()) }
    }
    #expect(entered)
  }

  @Test func `wakes sleepers at their time and at once when cancelled`() async throws {
    let loop = try EventLoop(name: "test")
    defer { loop.stop() }
    let due = MonotonicClock.now() + .milliseconds(5)
    try await loop.sleep(until: due)
    #expect(MonotonicClock.now() >= due)
    let forever = Task { try await loop.sleep(until: .distantFuture) }
    forever.cancel()
    await #expect(throws: CancellationError.self) { try await forever.value }
  }

  @Test func `loses no job that other threads hand over while it falls asleep`() async throws {
    let loop = try EventLoop(name: "test")
    defer { loop.stop() }
    let resident = Resident(loop: loop)
    await withTaskGroup(of: Void.self) { group in
      for _ in 0..<8 {
        group.addTask { for _ in 0..<2_000 { _ = await resident.visit() } }
      }
    }
    #expect(await resident.visits == 16_000)
  }

  @Test func `flushes once a turn, after the jobs`() async throws {
    let loop = try EventLoop(name: "test")
    defer { loop.stop() }
    let order: [String] = await withUnsafeContinuation { continuation in
      loop.execute {
        let log = Log()
        loop.atEndOfTurn {
          log.lines.append("flush")
          continuation.resume(returning: log.lines)
        }
        loop.execute { log.lines.append("job") }
        log.lines.append("first")
      }
    }
    #expect(order == ["first", "job", "flush"])
  }
}

/// Used on one loop only.
private final class Log: @unchecked Sendable {
  var lines: [String] = []
}

@Suite struct `A scaled clock` {
  @Test func `passes at its speed and agrees between processes`() {
    let start = UnixTime(wholeSeconds: 1_700_000_000)
    let begun = WallClock.now() - .seconds(10)
    let one = ServiceClock(speed: 60, startingAt: start, at: begun)
    let other = ServiceClock(speed: 60, startingAt: start, at: begun)
    let read = one.wall
    #expect(read - start >= .seconds(600))
    #expect(read - start < .seconds(1_200))
    #expect(abs((other.wall - read).inSeconds) < 60)
    #expect(one.real(.seconds(60)) == .seconds(1))
  }

  @Test func `says when a moment of its own will come`() {
    let clock = ServiceClock(speed: 100, startingAt: UnixTime(wholeSeconds: 0), at: WallClock.now())
    let target = clock.now + .seconds(50)
    let real = clock.real(at: target)
    #expect(clock.now(at: real) >= target)
    #expect(clock.now(at: real - .milliseconds(1)) < target)
  }
}
