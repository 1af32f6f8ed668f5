import Clocks
import Randomness
import Testing
import Transport

@testable import HTTP

/// Frames that are well formed one by one, with contents and an order that no peer would choose:
/// they get further into a client than damaged bytes do.
@Suite(.timeLimit(.minutes(1))) struct `Frames in any order` {
  @Test func `do not upset a client's session, nor lose a request in it`() async throws {
    for seed in Damage.seeds {
      // Others have tests to run on this thread too.
      await Task.yield()
      var random = SplitMix64(seed: UInt64(seed))
      var trial = try ClientTrial()
      let bytes = RandomFrames.settings + RandomFrames.make(40, &random)
      trial.feed(Damage.pieces(of: bytes, upTo: 200, &random))
      trial.end()
      #expect(trial.faults.isEmpty, "seed \(seed): \(trial.faults)")
    }
  }

  @Test func `give every caller of a client one outcome in time`() async throws {
    let loop = try EventLoop(name: "fuzz")
    // Each of these is a connection; a tenth of the seeds keeps the test short.
    for seed in Damage.seeds where seed % 10 == 0 {
      let random = SplitMix64(seed: UInt64(seed))
      let listener = try await StreamListener.bind(.tcp(host: "127.0.0.1", port: 0), on: loop) {
        $0.start(Babbler($0, random))
      }
      let endpoint = Endpoint.tcp(host: "127.0.0.1", port: listener.port)
      var configuration = HTTP2ClientConfiguration()
      configuration.connect.deadline = .seconds(20)
      // A connection that is ended at once by a wrong frame is an outcome too.
      if let client = try? await HTTP2Client.connect(
        to: endpoint, tls: nil, configuration: configuration, on: loop)
      {
        let count = await withTaskGroup(of: ExchangeOutcome.self) { group in
          for number in 0..<12 {
            let request = HTTPRequest(
              method: "POST", authority: "a", path: "/\(number)", body: [1, 2, 3])
            group.addTask { await client.send(request, deadline: .milliseconds(300)) }
          }
          return await group.reduce(0) { count, _ in count + 1 }
        }
        #expect(count == 12)
        await client.close()
        #expect(await client.slotsInUse == 0, "seed \(seed)")
        #expect(await client.activeStreams == 0, "seed \(seed)")
      }
      listener.close()
    }
    loop.stop()
  }

  /// Says its settings, and random frames for whatever it hears; leaves after some time.
  ///
  /// `@unchecked Sendable` is right because it is touched on its loop only.
  private final class Babbler: StreamHandler, @unchecked Sendable {
    private let stream: ByteStream
    private var random: SplitMix64
    private var turns = 0

    init(_ stream: ByteStream, _ random: SplitMix64) {
      self.stream = stream
      self.random = random
    }

    func streamReceived(_ bytes: RawSpan) {
      turns += 1
      if turns == 1 { stream.write(RandomFrames.settings) }
      stream.write(RandomFrames.make(Int.random(in: 1...6, using: &random), &random))
      if turns == 40 { stream.close() }
    }

    func streamWillFlush() {}
    func streamDrained() {}
    func streamClosed(_ closure: StreamClosure) {}
  }
}

/// Frames of HTTP/2 (RFC 9113, section 6) by dice.
enum RandomFrames {
  /// An empty SETTINGS frame, with which a server has to begin.
  static let settings: [UInt8] = frame(type: 4, flags: 0, stream: 0, [])

  static func make(_ count: Int, _ random: inout SplitMix64) -> [UInt8] {
    var bytes: [UInt8] = []
    for _ in 0..<count { bytes += one(&random) }
    return bytes
  }

  private static func one(_ random: inout SplitMix64) -> [UInt8] {
    let stream = Self.stream(&random)
    let end: UInt8 = Bool.random(using: &random) ? 1 : 0
    switch Int.random(in: 0..<14, using: &random) {
    case 0, 1: return frame(type: 0, flags: end, stream: stream, noise(60, &random))
    case 2, 3, 4: return frame(type: 1, flags: 4 | end, stream: stream, head(&random))
    case 5:
      // A head in two frames, as it should be or with something in between.
      let second = Bool.random(using: &random) ? stream : Self.stream(&random)
      return frame(type: 1, flags: end, stream: stream, head(&random))
        + frame(type: 9, flags: 4, stream: second, head(&random))
    case 6:
      return frame(type: 3, flags: 0, stream: stream, number(.random(in: 0...13, using: &random)))
    case 7: return frame(type: 4, flags: 0, stream: 0, setting(&random))
    case 8: return frame(type: 4, flags: 1, stream: 0, [])
    case 9: return frame(type: 6, flags: end, stream: 0, Array(repeating: 0, count: 8))
    case 10:
      return frame(
        type: 7, flags: 0, stream: 0,
        number(UInt32(Self.stream(&random))) + number(0) + noise(20, &random))
    case 11:
      return frame(
        type: 8, flags: 0, stream: end == 0 ? 0 : stream,
        number(.random(in: 0...100_000, using: &random)))
    case 12:
      // Padding, sometimes more of it than there is.
      let pad = UInt8.random(in: 0...20, using: &random)
      return frame(
        type: UInt8.random(in: 0...1, using: &random), flags: 8 | 4 | end, stream: stream,
        [pad] + head(&random) + Array(repeating: 0, count: 10))
    default:
      return frame(
        type: .random(in: 0...20, using: &random), flags: .random(in: 0...255, using: &random),
        stream: stream, noise(30, &random))
    }
  }

  /// Mostly one of the client's streams.
  private static func stream(_ random: inout SplitMix64) -> Int32 {
    switch Int.random(in: 0..<10, using: &random) {
    case 0: 0
    case 1: 2
    case 2: .random(in: 0...(.max), using: &random)
    default: 2 * .random(in: 0..<8, using: &random) + 1
    }
  }

  /// Fields in HPACK: from the static table, written out, and nonsense.
  private static func head(_ random: inout SplitMix64) -> [UInt8] {
    var block: [UInt8] = Bool.random(using: &random) ? [0x88] : []
    for _ in 0..<Int.random(in: 0...4, using: &random) {
      switch Int.random(in: 0..<6, using: &random) {
      case 0: block.append(.random(in: 0x80...0xFF, using: &random))
      case 1: block += literal(":status", "\(Int.random(in: 90...620, using: &random))")
      case 2: block += literal("apns-id", String(repeating: "x", count: 100))
      case 3: block += literal("content-length", "\(Int.random(in: -1...70, using: &random))")
      case 4: block += literal("Upper", "\u{0}")
      default: block += noise(6, &random)
      }
    }
    return block
  }

  private static func literal(_ name: String, _ value: String) -> [UInt8] {
    [0x40, UInt8(name.utf8.count)] + name.utf8 + [UInt8(value.utf8.count)] + value.utf8
  }

  private static func setting(_ random: inout SplitMix64) -> [UInt8] {
    let value: UInt32 =
      Bool.random(using: &random)
      ? .random(in: 0...100, using: &random) : .random(in: 0...(.max), using: &random)
    return [0, .random(in: 1...9, using: &random)] + number(value)
  }

  private static func noise(_ most: Int, _ random: inout SplitMix64) -> [UInt8] {
    (0..<Int.random(in: 0...most, using: &random)).map { _ in
      .random(in: 0...255, using: &random)
    }
  }

  private static func number(_ value: UInt32) -> [UInt8] {
    [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: value >> $0) }
  }

  private static func frame(
    type: UInt8, flags: UInt8, stream: Int32, _ payload: [UInt8]
  ) -> [UInt8] {
    var bytes = Array(number(UInt32(payload.count)).dropFirst())
    bytes += [type, flags]
    bytes += number(UInt32(bitPattern: stream))
    return bytes + payload
  }
}
