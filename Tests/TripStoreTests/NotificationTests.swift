import Clocks
import FieldTrips
import Redis
import Testing

@testable import TripStore

func sampleNotification(
  home: TripID, name: String = "1", sendAt: UnixTime? = nil
) throws -> NotificationRecord {
  var text = #"{"to":{"member":"ada"},"alert":{"body":"x"}"#
  if let sendAt { text += ",\"sendAt\":\(sendAt.wholeSeconds)" }
  let request = try NotificationRequest.read(bytes(text + "}"), now: start)
  return NotificationRecord(
    id: NotificationID(home: home, name: name), request: request.bytes,
    life: NotificationLife(request, at: start, rules: NotificationRules()))
}

@Suite struct `A stored notification` {
  private func create(
    _ store: TripStore, _ record: NotificationRecord, limit: Int = 10
  ) async throws -> NotificationCreation {
    try await store.createNotification(
      record.id, request: record.request, life: record.life, limit: limit, at: start)
  }

  private func change(
    _ store: TripStore, _ id: NotificationID, _ from: NotificationLife, _ to: NotificationLife,
    _ marks: [(device: String, mark: DeviceMark)] = [], owner: Ownership?
  ) async throws -> NotificationOutcome {
    try await store.changeNotification(
      NotificationChange(id, from: from, to: to, marks: marks), owner: owner, at: start)
  }

  @Test func `is due at its time, and its owner hears of it`() async throws {
    try await withStore { store, _ in
      let (owner, _) = try await store.own()
      let time = start + .seconds(600)
      let new = try sampleNotification(home: randomTrip(), sendAt: time)
      #expect(try await create(store, new) == .created)
      #expect(try await store.notification(new.id) == new)
      #expect(try await store.nextDue([partition])[0].get() == time)
      let news = try await store.entries()
      #expect(news.map(\.kind) == [.push])
      #expect(news.map(\.id) == ["\(time.milliseconds)"])
      // Again, as when the answer got lost: nothing is doubled.
      #expect(try await create(store, new) == .created)
      #expect(try await store.entries().count == 1)
      var life = new.life
      _ = life.cancel(at: start)
      #expect(
        try await change(store, new.id, new.life, life, owner: nil) == .changed(granted: []))
      #expect(try await store.nextDue([partition])[0].get() == nil)
      // What the owner decided by the earlier life comes to nothing.
      var sending = new.life
      _ = sending.wake(at: time, rules: NotificationRules())
      #expect(
        try await change(store, new.id, new.life, sending, owner: owner) == .conflict(life))
    }
  }

  @Test func `is one of a limited number until it is over`() async throws {
    try await withStore { store, _ in
      let home = randomTrip()
      let first = try sampleNotification(home: home, name: "1")
      let second = try sampleNotification(home: home, name: "2")
      #expect(try await create(store, first, limit: 1) == .created)
      #expect(
        try await create(store, second, limit: 1) == .tooMany(1))
      let other = try sampleNotification(home: randomTrip())
      #expect(try await create(store, other, limit: 1) == .created)
      var life = first.life
      _ = life.cancel(at: start)
      _ = try await change(store, first.id, first.life, life, owner: nil)
      #expect(
        try await create(store, second, limit: 1) == .created)
    }
  }

  @Test func `grants a device to one attempt`() async throws {
    try await withStore { store, _ in
      let (owner, _) = try await store.own()
      let new = try sampleNotification(home: randomTrip())
      _ = try await create(store, new)
      func mark(
        _ marks: [(device: String, mark: DeviceMark)], as owner: Ownership
      ) async throws -> NotificationOutcome {
        try await change(store, new.id, new.life, new.life, marks, owner: owner)
      }
      let mine = DeviceMark.sending(attempt: "x")
      #expect(
        try await mark([("a", mine), ("b", mine), ("c", mine)], as: owner)
          == .changed(granted: [true, true, true]))
      // The same attempt asks again, since the answer got lost.
      #expect(try await mark([("a", mine)], as: owner) == .changed(granted: [true]))
      _ = try await mark([("a", .accepted), ("b", .later)], as: owner)
      var counts = DeviceCounts()
      counts.accepted = 1
      counts.waiting = 1
      counts.unconfirmedOnce = 1
      #expect(try await store.notification(new.id)?.devices == counts)
      // The next owner finds one that is done, one to be tried again, and one that it knows
      // nothing of.
      let (next, _) = try await store.own(node: "a")
      let theirs = DeviceMark.sending(attempt: "y")
      #expect(
        try await mark([("a", theirs), ("b", theirs), ("c", theirs)], as: next)
          == .changed(granted: [false, true, false]))
      // The one before may neither send nor speak any more.
      let late = try await mark([("d", mine)], as: owner)
      #expect(late == .fenced(current: next.epoch))
      _ = try await mark([("b", .dead)], as: next)
      counts.waiting = 0
      counts.dead = 1
      #expect(try await store.notification(new.id)?.devices == counts)
    }
  }

  @Test func `grants a device without an answer once more, where that does no harm`() async throws {
    try await withStore { store, _ in
      let (owner, _) = try await store.own()
      let new = try sampleNotification(home: randomTrip())
      _ = try await create(store, new)
      func ask(_ attempt: String, _ devices: String...) async throws -> NotificationOutcome {
        try await store.changeNotification(
          NotificationChange(
            new.id, from: new.life, to: new.life,
            marks: devices.map { ($0, .sending(attempt: attempt)) }, repeatsUnconfirmed: true),
          owner: owner, at: start)
      }
      func answer(_ device: String, _ mark: DeviceMark) async throws {
        _ = try await change(store, new.id, new.life, new.life, [(device, mark)], owner: owner)
      }
      #expect(try await ask("x", "a", "b", "c") == .changed(granted: [true, true, true]))
      try await answer("a", .accepted)
      #expect(try await ask("y", "a", "b", "c") == .changed(granted: [false, true, true]))
      // Again, since the answer got lost; and then neither a third attempt.
      #expect(try await ask("y", "b") == .changed(granted: [true]))
      #expect(try await ask("z", "b", "c") == .changed(granted: [false, false]))
      var counts = DeviceCounts()
      counts.accepted = 1
      counts.unconfirmedTwice = 2
      #expect(try await store.notification(new.id)?.devices == counts)
      // The second attempt's answer counts.
      try await answer("b", .accepted)
      counts.accepted = 2
      counts.unconfirmedTwice = 1
      #expect(try await store.notification(new.id)?.devices == counts)
    }
  }

  @Test func `that was claimed too early is due at its time again`() async throws {
    try await withStore { store, _ in
      let (owner, _) = try await store.own()
      let time = start + .seconds(600)
      let new = try sampleNotification(home: randomTrip(), sendAt: time)
      _ = try await create(store, new)
      _ = try await store.claimDue(by: time, claim: .seconds(10), owner: owner)
      var life = new.life
      _ = life.wake(at: start, rules: NotificationRules())
      _ = try await change(store, new.id, new.life, life, owner: owner)
      #expect(try await store.nextDue([partition])[0].get() == time)
    }
  }

  @Test func `stays due when its owner dies`() async throws {
    try await withStore { store, _ in
      let (owner, _) = try await store.own()
      let new = try sampleNotification(home: randomTrip())
      _ = try await create(store, new)
      var life = new.life
      _ = life.wake(at: start, rules: NotificationRules())
      _ = try await change(store, new.id, new.life, life, owner: owner)
      #expect(try await store.nextDue([partition])[0].get() == start + .seconds(10))
      let found = try await store.notification(new.id)
      #expect(found?.life == life)
    }
  }
}

@Suite struct `A source's cursor` {
  @Test func `moves from where its fetch began, and never back`() async throws {
    try await withStore { store, _ in
      #expect(try await store.sourceCursor("s") == nil)
      #expect(try await store.moveSourceCursor("s", from: nil, to: "5"))
      #expect(try await store.moveSourceCursor("s", from: nil, to: "5"))
      #expect(try await store.moveSourceCursor("s", from: "5", to: "9"))
      let isBack = try await store.moveSourceCursor("s", from: "5", to: "7")
      #expect(!isBack)
      #expect(try await store.sourceCursor("s") == "9")
      #expect(try await store.sourceCursor("t") == nil)
    }
  }
}
