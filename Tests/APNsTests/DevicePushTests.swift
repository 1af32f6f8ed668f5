import HTTP
import Testing
import Transport

@testable import APNs

private func token(_ number: Int) throws -> DeviceToken {
  let digits = String(number, radix: 16)
  return try #require(DeviceToken(String(repeating: "0", count: 64 - digits.count) + digits))
}

@Suite(.timeLimit(.minutes(1))) struct `Pushes to devices` {
  @Test func `carry what Apple requires`() async throws {
    try await withBench(try await .start()) { bench in
      let options = try PushOptions(
        .liveActivity, priority: .considerate, expiration: .attemptOnce, collapseID: "trip 1")
      let result = await bench.client.push(
        Push(options, payload: Array("{}".utf8)), to: try token(0xAB))
      guard case .accepted(let id, let uniqueID) = result else {
        Issue.record("\(result)")
        return
      }
      let request = try #require(await bench.server.requests().first?.request)
      #expect(request.path == "/3/device/" + (try token(0xAB).text))
      #expect(request.fields["apns-topic"] == "com.example.trains.push-type.liveactivity")
      #expect(request.fields["apns-push-type"] == "liveactivity")
      #expect(request.fields["apns-priority"] == "5")
      #expect(request.fields["apns-expiration"] == "0")
      #expect(request.fields["apns-collapse-id"] == "trip 1")
      // APNs makes the ID where the caller has none, and says it in the answer.
      #expect(request.fields["apns-id"] == nil)
      #expect(id == "?")
      #expect(request.fields["authorization"]?.hasPrefix("bearer ey") == true)
      #expect(uniqueID == "u-1")
      let names = request.fields.map(\.name)
      #expect(Set(names).count == names.count)
    }
  }

  @Test func `of many kinds travel in one batch, each with its own head`() async throws {
    let server = try await ScriptedAPNs.start(raisesLimitTo: nil) { seen, _ in
      seen.request.fields["apns-push-type"] == "background"
        ? ScriptedAPNs.refusal(410, "Unregistered") : .accept
    }
    try await withBench(server) { bench in
      let pushes: [Push] = [
        try Push(AlertPayload(title: .plain("a")), collapseID: "1"),
        try Push(BackgroundPayload()), try Push(AlertPayload(title: .plain("b")), collapseID: "2"),
        try Push(AlertPayload(badge: 3), expiration: .attemptOnce),
      ]
      let items = try pushes.enumerated().map { AddressedPush($1, to: try token($0)) }
      let broken = AddressedPush(pushes[0], to: try token(9), id: "x")
      let results = await bench.client.push(items + [broken])
      #expect(results.map(\.isAccepted) == [true, false, true, true, false])
      #expect(results[1].refusal?.reason == .unregistered)
      #expect(results[4].isNotSent)
      let heads = await server.requests().map(\.request).sorted { $0.path < $1.path }
      #expect(heads.map { $0.fields["apns-collapse-id"] } == ["1", nil, "2", nil])
      #expect(heads.map { $0.fields["apns-expiration"] } == [nil, nil, nil, "0"])
      #expect(heads.map { $0.fields["apns-priority"] } == ["10", "5", "10", "10"])
      #expect(await server.connectionCount() == 1)
    }
  }

  @Test func `go to one device or to many with the same words`() async throws {
    try await withBench(try await .start()) { bench in
      let push = try Push(WidgetPayload(), expiration: .attemptOnce, collapseID: "w")
      #expect(await bench.client.push(push, to: try token(1)).isAccepted)
      let both = await bench.client.push(push, to: [try token(2), try token(3)])
      #expect(both.map(\.isAccepted) == [true, true])
      let heads = await bench.server.requests().map(\.request)
      #expect(heads.count == 3)
      for head in heads {
        #expect(head.fields["apns-topic"] == "com.example.trains.push-type.widgets")
        #expect(head.fields["apns-collapse-id"] == "w")
        #expect(head.fields["apns-expiration"] == "0")
        #expect(head.body == Array(#"{"aps":{"content-changed":true}}"#.utf8))
      }
    }
  }

  @Test func `over the limit are not sent`() async throws {
    try await withBench(try await .start()) { bench in
      let result = await bench.client.push(
        try .alert([UInt8](repeating: 32, count: 4_097)), to: try token(1))
      guard case .notSent(.payload(.tooLarge(4_097, 4_096))) = result else {
        Issue.record("\(result)")
        return
      }
      #expect(await bench.server.requests().isEmpty)
    }
  }

  @Test func `of a batch have each its own answer, in order`() async throws {
    let server = try await ScriptedAPNs.start { seen, _ in
      seen.request.path.hasSuffix("7") ? ScriptedAPNs.refusal(410, "Unregistered") : .accept
    }
    try await withBench(server) { bench in
      let tokens = try (0..<5_000).map { try token($0) }
      let results = await bench.client.push(try .alert(), to: tokens)
      #expect(results.count == 5_000)
      let expected = tokens.map { $0.text.hasSuffix("7") }
      #expect(results.map { $0.refusal?.reason == .unregistered } == expected)
      #expect(results.map(\.isAccepted) == expected.map { !$0 })
      let paths = await server.requests().map(\.request.path)
      #expect(paths.count == 5_000)
      #expect(Set(paths).count == 5_000)
    }
  }

  @Test func `of many kinds do not wait for each other`() async throws {
    let server = try await ScriptedAPNs.start(raisesLimitTo: nil) { _, _ in .hold }
    try await withBench(server) { bench in
      let items = [
        AddressedPush(try Push(AlertPayload(title: .plain("a"))), to: try token(1)),
        AddressedPush(try Push(BackgroundPayload()), to: try token(2)),
      ]
      async let results = bench.client.push(items)
      await server.received(2)
      await server.release()
      #expect(await results.map(\.isAccepted) == [true, true])
    }
  }

  @Test func `of a batch that break a rule do not keep the others back`() async throws {
    try await withBench(try await .start()) { bench in
      let id = "123e4567-e89b-12d3-a456-42665544000a"
      let results = await bench.client.push(
        [
          AddressedPush(try .alert([]), to: try token(1)),
          AddressedPush(try .alert(), to: try token(2), id: id),
          AddressedPush(try .alert(), to: try token(3), id: id.uppercased()),
          AddressedPush(try .alert([UInt8](repeating: 32, count: 4_097)), to: try token(4)),
          AddressedPush(try .alert(), to: try token(5)),
        ])
      #expect(results.map(\.isAccepted) == [false, true, false, false, true])
      #expect(results.map(\.isNotSent) == [true, false, true, true, false])
      let requests = await bench.server.requests().map(\.request).sorted { $0.path < $1.path }
      #expect(requests.map(\.path) == [try token(2), try token(5)].map { "/3/device/\($0.text)" })
      #expect(requests.map { $0.fields["apns-id"] } == [id, nil])
      guard case .accepted(let answered, _) = results[1] else { return }
      #expect(answered == id)
    }
  }

  @Test func `of a batch go again after an expired token`() async throws {
    let server = try await ScriptedAPNs.start(raisesLimitTo: nil) { [first = FirstSeen()] seen, _ in
      first.isFirst(seen.authorization)
        ? ScriptedAPNs.refusal(403, "ExpiredProviderToken") : .accept
    }
    try await withBench(server) { bench in
      let tokens = try (0..<300).map { try token($0) }
      let results = await bench.client.push(try .alert(), to: tokens)
      #expect(results.map(\.isAccepted) == tokens.map { _ in true })
      #expect(bench.credentials.signedCount == 2)
    }
  }

  @Test func `of a batch survive connections that go away`() async throws {
    let server = try await ScriptedAPNs.start(raisesLimitTo: nil) { seen, _ in
      switch seen.stream {
      case ...999: .accept
      case 1_001: .goAway(last: 999, reason: "Shutdown")
      default: .silence
      }
    }
    try await withBench(server) { bench in
      let tokens = try (0..<6_000).map { try token($0) }
      let results = await bench.client.push(try .alert(), to: tokens)
      #expect(results.filter(\.isAccepted).count == 6_000)
      let accepted = await server.requests().filter { $0.stream < 1_000 }.map(\.request.path)
      #expect(accepted.count == 6_000)
      #expect(Set(accepted).count == 6_000)
    }
  }

  @Test func `do not share a connection with broadcasts`() async throws {
    let server = try await ScriptedAPNs.start(raisesLimitTo: nil)
    try await withBench(server) { bench in
      try await bench.expectAccepted()
      _ = await bench.client.push(try .alert(), to: try token(1))
      #expect(await server.requests().map(\.connection) == [0, 1])
    }
  }

  @Test func `of a batch that is late are not sent, or unknown, but answered`() async throws {
    let server = try await ScriptedAPNs.start(raisesLimitTo: 10) { _, count in
      count == 1 ? .accept : .silence
    }
    try await withBench(server) { bench in
      let first = await bench.client.push(try .alert(), to: try token(0))
      #expect(first.isAccepted)
      let tokens = try (0..<100).map { try token($0) }
      let results = await bench.client.push(try .alert(), to: tokens, deadline: .seconds(1))
      #expect(results.count == 100)
      #expect(results.filter(\.isUnknown).count >= 1)
      #expect(results.filter(\.isNotSent).count >= 50)
      #expect(results.filter(\.isAccepted).isEmpty)
    }
  }
}

extension AlertPayload {
  fileprivate init(badge: Int) {
    self.init()
    self.badge = badge
  }
}

extension PushResult {
  var isAccepted: Bool { if case .accepted = self { true } else { false } }
  var isNotSent: Bool { if case .notSent = self { true } else { false } }
  var isUnknown: Bool { if case .unknown = self { true } else { false } }
  var refusal: APNsRefusal? { if case .refused(let refusal) = self { refusal } else { nil } }
}
