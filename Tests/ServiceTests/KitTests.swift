import APNsSimulator
import FieldTripKit
import FieldcastServer
import Foundation
import JSON
import Testing
import Transport

/// The app's client and the service as two processes: what one writes the other must read.
@Suite struct `The kit` {
  private func client(
    of caller: TestCaller, retries: RetryPolicy = RetryPolicy(),
    token: @escaping @Sendable () async throws -> String? = { nil }
  ) throws -> FieldcastClient {
    FieldcastClient(
      service: try #require(URL(string: "http://\(caller.endpoint)")), retries: retries,
      token: token)
  }

  @Test func `takes a trip from its creation to its end, over a restart of the service`()
    async throws
  {
    try await World.with { world in
      let program = KilledService(world: world)
      try await program.start()
      let client = try client(of: program.caller)
      let created: TripReply<FieldTripAttributes> = try await client.create(
        NewTrip(name: "Heron mudflats", notebook: "Rock pools", dismissal: .atOnce), key: "day-1")
      let again: TripReply<FieldTripAttributes> = try await client.create(
        NewTrip(name: "Heron mudflats", notebook: "Rock pools", dismissal: .atOnce), key: "day-1")
      #expect(again.trip == created.trip)
      let joined: JoinReply<FieldTripAttributes> = try await client.join(
        created.trip, as: Join(member: "Änne/ß?", osVersion: "18.2", frequentUpdates: true))
      let channel = try #require(joined.channelID)
      #expect(channel == created.channel?.id && joined.reach == .channel)
      #expect(joined.attributes.tripID == created.trip && joined.attributes.startedAt != nil)
      #expect(joined.staleDate != nil && joined.contentState.notesCaptured == 0)
      try await world.addPhones(3, to: channel, showing: text(of: joined.contentState))

      let queue = try CaptureQueue(
        file: world.folder.appendingPathComponent("captures"),
        client: try self.client(of: program.caller, retries: .never)
      ) { Issue.record("refused: \($0)") }
      try await program.kill()
      for (number, place) in ["Pond", "Weir", "Mill"].enumerated() {
        try await queue.capture(
          CapturedNote(id: "n\(number)", member: "Änne/ß?", place: place, sequence: number),
          on: created.trip)
      }
      guard case .waits(.unreachable) = await queue.flush() else {
        Issue.record("nobody was there to take them")
        return
      }
      try await program.start()
      #expect(await queue.flush() == .empty)
      let twice = try await client.capture(
        (0..<3).map { CapturedNote(id: "n\($0)") }, on: created.trip)
      #expect(twice.map(\.status) == [.duplicate, .duplicate, .duplicate])
      try await world.waitForPhones(on: channel) { $0["notesCaptured"]?.int64 == 3 }
      let shown = try #require(await world.ledger(of: channel)?.newestState?.payload.contentState)
      let state = try JSONDecoder().decode(
        FieldTripAttributes.ContentState.self, from: Data(shown.bytes))
      #expect(state == .init(notesCaptured: 3, lastPlaceName: "Mill"))

      let end = TripEnd<FieldTripAttributes>(contentState: .init(notesCaptured: 4))
      for _ in 0..<2 { try await client.end(created.trip, with: end) }
      await world.waitUntilNoChannelIsLeft()
      let over: TripReply<FieldTripAttributes> = try await client.trip(created.trip)
      #expect(over.phase == .ended && over.contentState.notesCaptured == 4)
      #expect(
        await refusal { try await client.capture(CapturedNote(), on: created.trip) } == "ended-trip"
      )
      try await program.stop()
    }
  }

  @Test func `reads every kind of card that the service has built in`() async throws {
    try await World.with { world in
      try await world.withService { caller in
        let client = try client(of: caller)
        let turn: TripReply<ConversationTurnAttributes> = try await client.create(
          NewTrip(name: "Anna", contentState: .init(phase: .sending)))
        let phase = ConversationTurnAttributes.Phase.answered
        try await client.change(PhaseChange(phase: phase), of: turn.trip)
        try await world.waitUntil("the turn is answered") {
          let read: TripReply<ConversationTurnAttributes> = try await client.trip(turn.trip)
          return read.contentState == .init(phase: phase) && read.attributes?.tripID == turn.trip
        }
        let job: JoinReply<JobProgressAttributes> = try await client.join(
          try await client.create(NewTrip<JobProgressAttributes>(name: "Export")).trip,
          as: Join(member: "anna", osVersion: "18.2"))
        #expect(job.contentState == .init(stage: .queued) && job.attributes.name == "Export")
        let outcome: [String: FieldValue] = ["message": .string("no space"), "code": .integer(7)]
        try await client.change(
          PhaseChange(
            phase: JobProgressAttributes.Stage.finished,
            fields: [
              "progress": .number(0.75), "sender": .string("mill"),
              "result": .object(["failed": .object(outcome)]),
            ]), of: job.trip)
        let wanted = JobProgressAttributes.ContentState(
          stage: .finished, progress: 0.75, sender: "mill",
          result: .failed(message: "no space", code: 7))
        try await world.waitUntil("the job has failed") {
          let read: TripReply<JobProgressAttributes> = try await client.trip(job.trip)
          return read.contentState == wanted
        }
        // What the kit writes the service takes.
        try await client.end(job.trip, with: TripEnd<JobProgressAttributes>(contentState: wanted))
      }
    }
  }

  @Test func `names tokens, and says how cards ended`() async throws {
    try await World.with { world in
      try await world.withService { caller in
        let client = try client(of: caller)
        let trip = try await caller.createTrip()
        let member = "Änne/ß?"
        let _: JoinReply<FieldTripAttributes> = try await client.join(
          trip.id, as: Join(member: member, osVersion: "17.4"))
        func token(_ byte: UInt8) -> PushToken { PushToken(Data(repeating: byte, count: 32)) }
        let device = try await client.register(
          DeviceRegistration(deviceToken: token(1), member: member, environment: .development))
        #expect(device.kind == "device" && device.environment == "development")
        let widget = DeviceRegistration(deviceToken: token(2), kind: .widget, member: member)
        #expect(try await client.register(widget).kind == "widget")
        let start = ActivityTokenRegistration.pushToStart(token(3), member: member)
        #expect(try await client.register(start).kind == "push-to-start")
        let card = try await client.register(
          .update(token(4), activityID: "card/1", member: member, trip: trip.id))
        #expect(card.activityID == "card/1" && card.reach == .updateToken)

        try await client.renew(Join(member: member, frequentUpdates: false), on: trip.id)
        for _ in 0..<2 {
          try await client.cardEnded(
            "card/1", wasDismissed: true, member: member, trip: trip.id)
        }
        let path = "/v1/trips/\(trip.id)/members/%C3%84nne%2F%C3%9F%3F"
        let known = try await caller.call("GET", path)
        #expect(known.body["card"]?["state"]?.string == "dismissed", "\(known.text)")
        try await client.leave(trip.id, member: member)
        #expect(try await caller.call("GET", path).status == 404)
      }
    }
  }

  @Test func `says what the service says, and who may not call`() async throws {
    let token = AccessToken()
    let list = try AccessList(parsing: token.entry(name: "app", scopes: [.trips]))
    try await World.with { world in
      try await world.withService {
        $0.access = list
      } _: { caller in
        let app = try client(of: caller, token: { token.text })
        let trip = "0c9d3a52-6a0e-4d4b-9f3e-0a5b6c7d8e9f"
        #expect(await refusal { try await app.end(trip) } == "unknown-trip")
        #expect(
          await refusal {
            let _: TripReply<FieldTripAttributes> = try await app.create(
              NewTrip(name: "Birds", notebook: "Spring", endsAt: Date(timeIntervalSince1970: 2e9)))
          } == "bad-time")
        #expect(await refusal { try await app.capture(CapturedNote(), on: trip) } == "wrong-scope")
        let stranger = try client(of: caller)
        #expect(await refusal { try await stranger.end(trip) } == "unauthorized")
      }
    }
  }

  @Test func `lets go of a request at once when its task is cancelled`() async throws {
    let loop = try EventLoop(name: "silence")
    defer { loop.stop() }
    let (arrived, arrival) = AsyncStream.makeStream(of: Void.self)
    // It takes the connection, and never says a word.
    let held = Lock<[ByteStream]>([])
    let silence = try await StreamListener.bind(.tcp(host: "127.0.0.1", port: 0), on: loop) {
      stream in
      held.withLock { $0.append(stream) }
      arrival.yield()
    }
    defer {
      silence.close()
      loop.execute { for stream in held.withLock({ $0 }) { stream.abort() } }
    }
    let client = FieldcastClient(
      service: try #require(URL(string: "http://127.0.0.1:\(silence.port)")))
    let task = Task { () async -> FieldcastError? in
      do throws(FieldcastError) { try await client.end("t") } catch { return error }
      return nil
    }
    for await _ in arrived { break }
    task.cancel()
    #expect(await task.value == .cancelled)
    // Also when the answer comes just then.
    let nobody = try await StreamListener.freePort(on: loop)
    let request = FieldcastRequest(
      method: "GET", url: try #require(URL(string: "http://127.0.0.1:\(nobody)/")))
    for _ in 0..<100 {
      let task = Task { try await URLSessionTransport().send(request) }
      let racing = Task { task.cancel() }
      _ = await task.result
      await racing.value
    }
  }

  /// The kind of problem that the service answers with.
  private func refusal(_ body: () async throws -> Void) async -> String? {
    do {
      try await body()
      return nil
    } catch FieldcastError.refused(let problem, _) {
      return problem.kind
    } catch {
      return "\(error)"
    }
  }

  private func text(of state: some Encodable) throws -> String {
    String(decoding: try FieldcastCoding.encode(state), as: UTF8.self)
  }
}
