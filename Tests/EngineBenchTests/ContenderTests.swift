import Clocks
import Crypto
import Foundation
import Testing
import Transport

@testable import EngineBench
@testable import fieldcast

/// Both contenders against the benchmark's own server, in this process.
@Suite(.timeLimit(.minutes(2))) struct `The benchmark's server` {
  @Test(arguments: [Contender.async, .batch, .elsewhere])
  func `answers the engine, and refuses the bad half of its tokens`(
    _ contender: Contender
  ) async throws {
    let place = try await Place()
    defer { place.leave() }
    var workload = Workload(.inFlight(7), requests: 200)
    workload.halfBad = true
    let run = try await place.run(workload, contender, .knowingTokens(answeringAfter: 0))
    #expect(run.accepted == 100)
    #expect(run.refused == 100)
    #expect(run.failed == 0)
    #expect(run.firstFailure == "")
    #expect(run.peakBytes > 1 << 20)
    #expect(run.warmHeapBytes > 0 && run.lastHeapBytes > 0)
  }

  @Test(arguments: [Contender.async, .batch])
  func `answers late what comes at its time`(_ contender: Contender) async throws {
    let place = try await Place()
    defer { place.leave() }
    let workload = Workload(.perSecond(2_000), requests: 100)
    let run = try await place.run(workload, contender, .delayed(milliseconds: 5))
    #expect(run.accepted == 100)
  }

  @Test(.enabled(if: FileManager.default.isExecutableFile(atPath: "/usr/bin/h2load")))
  func `answers h2load`() async throws {
    let place = try await Place()
    defer { place.leave() }
    let server = try await place.serve(.knowingTokens(answeringAfter: 0))
    let urls = BenchTokens.make(halfBad: false).map {
      "https://127.0.0.1:\(server.port)/3/device/\($0)"
    }
    try place.scratch.write(Array(urls.joined(separator: "\n").utf8), as: "urls")
    try place.scratch.write(BenchRequest.body, as: "body")
    let fields = try BenchRequest.fields(key: BenchRequest.makeKey(), now: WallClock.now())
    let process = try await Subprocess.start(
      try H2Load.executable(),
      arguments: H2Load.arguments(
        Workload(.inFlight(7), requests: 200), urls: place.scratch.file("urls"),
        body: place.scratch.file("body"), fields: fields),
      outputPath: place.scratch.file("output"), on: place.loop)
    #expect(await process.waitForExit() == 0)
    #expect(process.processorTime ?? .zero > .zero)
    let output = Scratch.read(place.scratch.file("output")) ?? ""
    #expect(H2Load.summary(of: output)?.succeeded == 200, "\(output)")
  }
}

@Suite struct `The benchmark's processes` {
  @Test func `take the arguments that they are given`() throws {
    var configuration = LeanServer.Configuration.delayed(milliseconds: 40)
    configuration.knowsBadTokens = true
    let words = ServerArguments.words(configuration, folder: "here")
    let server = try #require(
      try ArgumentParser(help: BenchServerCommand.help, environment: [:]).parse(words))
    #expect(server[BenchServerCommand.delay] == 40)
    #expect(server[BenchServerCommand.badTokens])
    #expect(server[BenchServerCommand.folder] == "here")
    var workload = Workload(.perSecond(5), requests: 9)
    workload.halfBad = true
    let client = try #require(
      try ArgumentParser(help: BenchClientCommand.help, environment: [:])
        .parse(ClientArguments.words(workload, .batch, 7, "ca.pem")))
    #expect(client[BenchClientCommand.perSecond] == 5)
    #expect(client[BenchClientCommand.requests] == 9)
    #expect(client[BenchClientCommand.badTokens])
    #expect(client[BenchClientCommand.contender] == "batch")
    #expect(client[BenchClientCommand.port] == 7)
  }
}

/// A folder with certificates, and a loop for each side.
private struct Place {
  let scratch: Scratch
  let loop: EventLoop
  private let serverLoop: EventLoop

  init() async throws {
    scratch = try Scratch()
    loop = try EventLoop(name: "client")
    serverLoop = try EventLoop(name: "server")
    try BenchServer.writeCertificate(in: scratch, now: WallClock.now())
  }

  func serve(_ configuration: LeanServer.Configuration) async throws -> LeanServer {
    func bytes(_ name: String) -> [UInt8] { Array((Scratch.read(scratch.file(name)) ?? "").utf8) }
    let identity = TLSIdentity(
      certificateChainPEM: bytes("certificate.pem"), privateKeyPEM: bytes("key.pem"))
    return try await LeanServer.start(configuration, identity: identity, on: serverLoop)
  }

  func run(
    _ workload: Workload, _ contender: Contender, _ configuration: LeanServer.Configuration
  ) async throws -> EngineRun {
    let server = try await serve(configuration)
    let (loop, trust) = (loop, scratch.file("ca.pem"))
    return try await Task(executorPreference: loop.tasks) {
      let driver = try await EngineDriver(
        workload, port: server.port, trustFile: trust, on: loop)
      return await driver.run(contender)
    }.value
  }

  func leave() {
    loop.stop()
    serverLoop.stop()
    scratch.remove()
  }
}
