import Clocks
import Testing

@testable import APNsSimulator

@Suite struct `Who follows all channels` {
  private let initial = Array(#"{"notesCaptured":0}"#.utf8)

  @Test func `gets each broadcast once, in the order of acceptance`() throws {
    var world = try World { $0.channels.storingBudget = nil }
    let channels = [try world.createChannel(), try world.createChannel()]
    var published: [String] = []
    var known = 0
    var seen: [String] = []
    for notes in 1...50 {
      world.wait(1)
      let channelID = channels[notes % 3 == 0 ? 0 : 1]
      try world.publish(notes, on: channelID)
      published.append("\(channelID) \(notes)")
      guard notes % 7 == 0 else { continue }
      let (missed, entries) = world.apns.journal.entries(after: known, limit: 4)
      #expect(missed == 0)
      known += entries.count
      seen += entries.map { "\($0.channelID) \($0.push.payload.contentState?.text ?? "")" }
    }
    let rest = world.apns.journal.entries(after: known, limit: 1_000).entries
    seen += rest.map { "\($0.channelID) \($0.push.payload.contentState?.text ?? "")" }
    #expect(
      seen
        == published.map { text in
          let parts = text.split(separator: " ")
          return "\(parts[0]) {\"notesCaptured\":\(parts[1])}"
        })
    #expect(world.apns.journal.entries(after: 50, limit: 9).entries.isEmpty)
  }

  @Test func `is told how many it missed`() throws {
    var journal = BroadcastJournal()
    let push = ActivityPush(
      number: 1, acceptedAt: UnixTime(wholeSeconds: 1), priority: 10, storage: .none,
      payload: ActivityPayload())
    for _ in 0..<100_000 { journal.accept(.init(bundleID: "b", channelID: "c", push: push)) }
    #expect(journal.count == 100_000)
    let (missed, entries) = journal.entries(after: 10, limit: 5)
    #expect(missed > 50_000 && missed < 90_000)
    #expect(entries.count == 5)
    let next = journal.entries(after: 10 + missed + entries.count, limit: 1_000_000)
    #expect(next.missed == 0)
    #expect(10 + missed + entries.count + next.entries.count == 100_000)
  }

  @Test func `knows when each phone gets a broadcast, as the phones do`() throws {
    var world = try World {
      $0.delivery.latencyLow = .milliseconds(10)
      $0.delivery.latencyHigh = .milliseconds(900)
    }
    let channelID = try world.createChannel()
    let phones = try world.apns.addCrowd(
      12, bundleID: World.bundleID, channelID: channelID, contentState: initial, now: world.now)
    world.wait(1)
    try world.publish(1, on: channelID)
    let entry = try #require(world.apns.journal.entries(after: 0, limit: 1).entries.first)
    let spread = world.apns.spread(of: entry)
    #expect(spread.phones == 12 && spread.lost == 0 && spread.delays.count == 12)
    #expect(spread.delays == spread.delays.sorted())
    #expect(spread.last == spread.delays.last)
    // A microsecond before and after each one's time: so many phones show it.
    for (index, delay) in spread.delays.enumerated() {
      for (nudge, count) in [(-1_000, index), (1_000, index + 1)] {
        let moment = entry.push.acceptedAt + delay + .nanoseconds(nudge)
        let showing = try phones.count { phone in
          let card = try world.apns.cards(of: phone, now: moment)[0]
          return card.contentState == #"{"notesCaptured":1}"#
        }
        #expect(showing == count)
      }
    }
  }

  @Test func `gets sixteen delays for many phones, each for as many of them`() {
    let all = (1...1_600).map { Duration.milliseconds($0) }
    let spread = ArrivalSpread(delays: all.shuffled(), lost: 400)
    #expect(spread.phones == 2_000)
    #expect(spread.delays.count == 16)
    #expect(spread.delays.first == .milliseconds(51))
    #expect(spread.delays.last == .milliseconds(1_551))
    #expect(spread.last == .milliseconds(1_600))
  }

  @Test func `sees what every phone shows, and no dismissed card`() throws {
    var world = try World()
    let channelID = try world.createChannel()
    _ = try world.apns.addCrowd(
      100, bundleID: World.bundleID, channelID: channelID, contentState: initial, now: world.now)
    let phone = try world.apns.addPhone(PhoneSettings(bundleID: World.bundleID)).phone
    let activity = try world.apns.startActivity(
      on: phone, contentState: initial, channelID: channelID, now: world.now)
    world.wait(1)
    try world.publish(1, on: channelID)
    var shown = try world.apns.shownStates(World.bundleID, channelID, now: world.now)
    #expect(shown.phones == [initial: 101])
    world.wait(1)
    shown = try world.apns.shownStates(World.bundleID, channelID, now: world.now)
    #expect(shown.phones == [Array(#"{"notesCaptured":1}"#.utf8): 101])
    #expect(shown.outcomes[.shown] == 100)
    try world.apns.dismiss(activity, on: phone, now: world.now)
    shown = try world.apns.shownStates(World.bundleID, channelID, now: world.now)
    #expect(shown.phones == [Array(#"{"notesCaptured":1}"#.utf8): 100])
  }
}
