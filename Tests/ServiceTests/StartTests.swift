import APNsSimulator
import Clocks
import FieldcastServer
import Foundation
import HTTP
import JSON
import Redis
import Testing
import Transport

@Suite struct `A service that starts` {
  @Test func `is told at once that its port is taken, whether or not Redis is there`()
    async throws
  {
    try await World.with { world in
      let other = try await HTTPServer.start(
        on: .tcp(host: "127.0.0.1", port: 0), loop: world.loop
      ) { _, _ in .response(HTTPResponse(status: 200)) }
      var configuration = try world.serviceConfiguration()
      configuration.listen = .tcp(host: "127.0.0.1", port: await other.port())
      configuration.store = .url("unix:///nowhere/redis.sock", trustFile: nil)
      let failure = await #expect(throws: StartFailure.self) {
        _ = try await Service.start(configuration, log: .silent, on: world.loop)
      }
      #expect(failure?.description.hasPrefix("REST cannot be served at") == true, "\(failure)")
      await other.drain(grace: .zero)
    }
  }

  @Test func `says so to callers until Redis is there`() async throws {
    try await World.with { world in
      let front = try await HTTPServer.start(
        on: .tcp(host: "127.0.0.1", port: 0), loop: world.loop
      ) { _, _ in .response(HTTPResponse(status: 200)) }
      let port = await front.port()
      await front.drain(grace: .zero)
      var configuration = try world.serviceConfiguration()
      configuration.listen = .tcp(host: "127.0.0.1", port: port)
      configuration.store = .url("unix:///nowhere/redis.sock", trustFile: nil)
      let (settings, loop) = (configuration, world.loop)
      let starting = Task(executorPreference: loop.tasks) {
        try await Service.start(settings, log: .silent, on: loop)
      }
      let caller = TestCaller(port: port, redis: world.redis, loop: world.loop)
      try await world.waitUntil("it answers") {
        (try? await caller.call("GET", "/healthz"))?.status == 200
      }
      let answer = try await caller.call("GET", "/v1/trips")
      #expect(answer.status == 503)
      #expect(answer.problem == "starting")
      #expect(answer.fields["retry-after"] == "1")
      starting.cancel()
      await #expect(throws: StartFailure.self) { _ = try await starting.value }
      await caller.close()
    }
  }

  @Test func `heeds a signal while it waits for the Redis of another in its folder`()
    async throws
  {
    try await World.with { world in
      let first = try await serve(world, name: "first")
      try await waitForLog(of: "first", "started a private Redis", world)
      let second = try await serve(world, name: "second")
      try await waitForLog(of: "second", "waiting for another Redis", world)
      second.terminate()
      #expect(await second.waitForExit() == 0)
      first.terminate()
      #expect(await first.waitForExit() == 0)
    }
  }

  /// The built program, with its data in the world's folder.
  private func serve(_ world: World, name: String) async throws -> Subprocess {
    try await world.serve(
      [
        "--listen", "127.0.0.1:\(Int.random(in: 20_000..<30_000))",
        "--data", world.folder.appendingPathComponent("d").path, "--node", name,
      ], log: "\(name).log")
  }

  private func waitForLog(of name: String, _ text: String, _ world: World) async throws {
    let path = world.folder.appendingPathComponent("\(name).log")
    try await world.waitUntil("\(name) logs: \(text)") {
      let log = try? String(contentsOf: path, encoding: .utf8)
      return log?.contains(text) == true
    }
  }
}
