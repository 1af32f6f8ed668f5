import Redis
import Synchronization
import Testing
import Transport

@testable import FieldcastServer

@Suite(.timeLimit(.minutes(1))) struct `The acknowledgements of a stream` {
  private let loop: EventLoop

  init() throws { loop = try EventLoop(name: "acknowledging") }

  private static func id(_ number: UInt64) -> StreamID {
    StreamID(milliseconds: 1, sequence: number)
  }

  @Test func `go together for all batches that ended while Redis answered`() async {
    defer { loop.stop() }
    let calls = Mutex<[[StreamID]]>([])
    let asked = AsyncStream.makeStream(of: Void.self)
    let answers = AsyncStream.makeStream(of: Void.self)
    let acknowledgements = Acknowledgements(loop: loop) { ids in
      calls.withLock { $0.append(ids) }
      asked.continuation.yield()
      for await _ in answers.stream { break }
    }
    await withDiscardingTaskGroup { group in
      group.addTask { await acknowledgements.run() }
      await acknowledgements.add([Self.id(0)])
      for await _ in asked.stream { break }
      for number in 1...100 { await acknowledgements.add([Self.id(UInt64(number))]) }
      answers.continuation.yield()
      for await _ in asked.stream { break }
      answers.continuation.yield()
      await acknowledgements.close()
    }
    #expect(calls.withLock { $0 } == [[Self.id(0)], (1...100).map { Self.id(UInt64($0)) }])
  }

  @Test func `leave nothing behind when nothing more will come`() async {
    defer { loop.stop() }
    let calls = Mutex<[StreamID]>([])
    let acknowledgements = Acknowledgements(loop: loop) { ids in calls.withLock { $0 += ids } }
    await acknowledgements.add([Self.id(1), Self.id(2)])
    await acknowledgements.close()
    await acknowledgements.run()
    #expect(calls.withLock { $0 } == [Self.id(1), Self.id(2)])
  }
}
