import Clocks
import FieldTrips
import Redis
import RedisStage
import Synchronization
import Testing
import Transport

@testable import TripStore

/// Every script of the store.
let allScripts: [RedisScript] = [
  TripStore.createScript, TripStore.changeLifeScript, TripStore.forgetScript,
  TripStore.appendScript, TripStore.commitScript, TripStore.reserveScript,
  TripStore.recordScript, TripStore.claimDueScript, TripStore.finishDueScript,
  TripStore.changeDueScript, TripStore.takeLeaseScript, TripStore.renewLeaseScript,
  TripStore.releaseLeaseScript, TripStore.heartbeatScript, TripStore.putMemberScript,
  TripStore.takeChannelScript, TripStore.intendScript, TripStore.intendWarmScript,
  TripStore.retireWarmScript, TripStore.channelCreatedScript,
  TripStore.retireChannelScript, TripStore.channelDeletedScript, TripStore.setForeignScript,
  TripStore.takeRequestsScript, TripStore.shareTokenScript, TripStore.claimRequestScript,
  TripStore.completeRequestScript, TripStore.abandonRequestScript,
  TripStore.openScript, TripStore.buryScript,
  TripStore.putPersonScript, TripStore.createNotificationScript,
  TripStore.changeNotificationScript, TripStore.moveSourceCursorScript,
  TripStore.inspectScript,
]

@Suite struct `Every script` {
  @Test(arguments: allScripts.map(\.name))
  func `touches the keys that it was given, and no others`(name: String) throws {
    let source = try #require(allScripts.first { $0.name == name }).source
    #expect(source.hasPrefix("#!lua"))
    #expect(source.contains("-- KEYS"))
    #expect(!source.contains("fc:"))
    // A key is KEYS[…], or a local name for one.
    let names: Set<String> = ["key", "trip_key", "unpublished"]
    for call in source.split(separator: "redis.call('").dropFirst() {
      let parts = call.split(separator: "'", maxSplits: 1)
      let command = try #require(parts.first)
      if command == "TIME" { continue }
      let rest = try #require(parts.last).drop { $0 == "," || $0 == " " }
      let key = rest.prefix { $0 != "," && $0 != ")" }
      #expect(key.hasPrefix("KEYS[") || names.contains(String(key)), "\(command) \(key)")
    }
  }

  @Test func `has a name of its own`() {
    #expect(Set(allScripts.map(\.name)).count == allScripts.count)
  }

  /// A cluster refuses keys of several slots, in a call and inside of a script; batches are taken
  /// apart.
  @Test func `runs in a cluster`() async throws {
    try await PrivateRedisCluster.withTemporary(masters: 2, on: loop) { nodes in
      let client = RedisCluster(
        configuration: RedisConfiguration(endpoint: nodes.seeds[0].endpoint), seeds: nodes.seeds,
        loop: loop)
      let recorder = RecordingCaller(client)
      let store = TripStore(redis: recorder, partitionCount: 16)
      try await runEverything(store)
      let inBatches: Set<String> = [
        "takeLease", "renewLease", "releaseLease", "record", "commit", "bury", "append",
      ]
      #expect(recorder.scripts.union(inBatches) == Set(allScripts.map(\.name)))
      let taken = await store.takeLeases(store.partitions, node: "b", life: .seconds(9))
      for lease in taken { _ = try lease.get() }
      #expect(taken.count == 16)
      await client.close(atOnce: true)
    }
  }
}

/// Passes commands on and remembers which scripts were among them.
final class RecordingCaller: RedisCaller {
  private let client: any RedisCaller
  private let labels = Mutex<Set<String>>([])

  init(_ client: any RedisCaller) { self.client = client }

  var scripts: Set<String> { labels.withLock { $0 } }

  func call(_ command: RedisCommand, deadline: Duration?) async throws(RedisError) -> RESPValue {
    if command.label.hasPrefix("script ") {
      labels.withLock { _ = $0.insert(String(command.label.dropFirst(7))) }
    }
    return try await client.call(command, deadline: deadline)
  }

  func callAll(_ batch: RedisBatch, deadline: Duration?) async -> [RedisReply] {
    await client.callAll(batch, deadline: deadline)
  }

  var isCluster: Bool { client.isCluster }
}

/// Calls all that the store can do, for a trip from its beginning to its end.
func runEverything(_ store: TripStore) async throws {
  #expect(try await store.heldVersion() == nil)
  try await store.open()
  #expect(try await store.heldVersion()?.version == String(TripStore.dataVersion))
  #expect(try await store.deniedCommands() == [])
  _ = try await store.heartbeat(node: "a", window: .seconds(10))
  let id = randomTrip()
  let place = store.partition(of: id)
  #expect(try await store.createTrip(newTrip(id), at: start))
  _ = try await store.claimRequest("k", fingerprint: "f", trip: id)
  try await store.abandonRequest("k")
  try await store.completeRequest("k", reply: [1])
  let (owner, cursor) = try await store.own(place)
  _ = try await store.append([trigger("1", id)], to: place, at: start)
  try await store.changePerson(.member(try MemberID("ada"))) { $0.joined(id, at: start) }
  try await store.noteActivity("card", ActivityOwner(trip: id, member: try MemberID("ada")))
  _ = try await store.owner(ofActivity: "card")
  _ = try await store.changeMember(try MemberID("ada"), of: id, at: start, announce: true) { _ in
    MemberRecord(reach: .updateToken, body: [1])
  }
  try await runChannels(store, for: id)
  let note = try sampleNotification(home: id)
  _ = try await store.createNotification(
    note.id, request: note.request, life: note.life, limit: 1, at: start)
  _ = try await store.changeNotification(
    NotificationChange(note.id, from: note.life, to: note.life, marks: [("d", .accepted)]),
    owner: owner, at: start)
  #expect(try await store.notification(note.id) != nil)
  try await store.moveSourceCursor("s", from: nil, to: "1")
  #expect(try await store.sourceCursor("s") == "1")
  let items = try await store.readLog(place, after: cursor)
  var ending = try #require(try await store.trip(id)?.life)
  let live = ending
  let actions = ending.handle(.endRequested(dismissal: nil), at: start)
  let change = TripChange(
    trip: id, newState: (Revision(2), [1]),
    life: LifeChange(of: id, from: live, to: ending, actions: actions))
  let commit = Commit(from: cursor, to: try #require(items.last?.logID), changes: [change])
  #expect(try await store.commit(commit, owner: owner) == .committed)
  _ = try await store.reserve(.end, for: id, timestampSeconds: 1, anchor: nil, owner: owner)
  var ended = ending
  _ = ended.handle(.endAccepted, at: start)
  let record = AnswerRecord(
    trip: id, accepted: Revision(2), life: LifeChange(from: ending, to: ended), timeline: [1],
    waiting: [1])
  #expect(try await store.record(record, owner: owner) == .recorded(published: Revision(2)))
  try await store.changeDue([.schedule(.push(id, id: "p"), at: start)], of: place)
  guard
    case .claimed(let claims) = try await store.claimDue(
      by: start + .seconds(86_400), claim: .seconds(1), owner: owner)
  else { throw Unexpected("what is due was not claimed") }
  try await store.finish(claims, of: place)
  #expect(try await store.forget(id, owner: owner) == .forgotten)
  let renewed = await store.renewLeases([owner], node: "a", life: .seconds(60))
  #expect(try renewed[0].get() == .renewed)
  _ = try await store.releaseLeases([owner], node: "a")[0].get()
  #expect(try await store.tripCount() == 0)
}

private func runChannels(_ store: TripStore, for trip: TripID) async throws {
  let intent = ChannelIntent(requestID: "r", storage: .mostRecent, trip: trip, askedAt: start)
  #expect(try await store.takeChannel(for: trip, of: app, storage: .mostRecent) == nil)
  #expect(try await store.intend(intent, of: app) == .recorded)
  let channel = try ChannelID("AAAA")
  let record = try await store.channelCreated(channel, for: intent, of: app, at: start)
  #expect(record.use == .trip(trip))
  let ahead = ChannelIntent(requestID: "w", storage: .noStorage, trip: nil, askedAt: start)
  #expect(
    try await store.intendWarm(ahead, of: app, poolSize: 1, quota: ChannelQuota()) == .recorded)
  #expect(
    try await store.retireWarm(
      of: app, storage: .noStorage, createdBefore: start, keeping: 1, at: start) == 0)
  let life = try #require(try await store.trip(trip)?.life)
  var open = life
  _ = open.handle(.channelOpened(channel), at: start)
  _ = try await store.changeLife(of: trip, LifeChange(from: life, to: open), at: start)
  try await store.retireChannel(channel, of: app, deleteAt: start)
  _ = try await store.claimDeletions(of: app, by: start, claim: .seconds(1))
  try await store.channelDeleted(channel, of: app)
  try await store.setForeignChannels([channel], of: app)
  _ = try await store.takeRequests(1, of: app, ratePerSecond: 10, burst: 10)
  _ = try await store.shareProviderToken(
    teamID: "T", keyID: "K", candidate: SharedProviderToken(jwt: "j", mintedAt: start),
    usableSince: start)
}
