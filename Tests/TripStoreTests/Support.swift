import Clocks
import FieldTrips
import Redis
import Testing
import Transport

@testable import TripStore

/// One loop for all tests of this room; each test has its own server.
let loop: EventLoop = {
  do { return try EventLoop(name: "store-tests") } catch { fatalError("no event loop: \(error)") }
}()

let start = UnixTime(milliseconds: 1_716_620_400_000)

/// A store over an empty Redis. With one partition, so that all trips of a test meet in it.
func withStore(
  partitions: Int = 1, arguments: [String] = [],
  _ body: (TripStore, RedisClient) async throws -> Void
) async throws {
  try await PrivateRedisServer.withTemporary(on: loop, arguments: arguments) { server in
    let client = RedisClient(configuration: server.configuration, loop: loop)
    try await body(TripStore(redis: client, partitionCount: partitions), client)
    await client.close(atOnce: true)
  }
}

let partition = Partition(number: 0)
let app: AppID = {
  do { return try AppID(bundleID: "com.example.trips", environment: .production) } catch {
    fatalError("\(error)")
  }
}()

func bytes(_ text: String) -> [UInt8] { Array(text.utf8) }

func randomTrip() -> TripID {
  var generator = SystemRandomNumberGenerator()
  return TripID(using: &generator)
}

func newTrip(
  _ id: TripID = randomTrip(), life: TripLife? = nil, state: String = #"{"notesCaptured":0}"#,
  at now: UnixTime = start
) -> NewTrip {
  var life = life ?? TripLife(times: TripTimes(createdAt: now))
  let actions = life.phase == .scheduled ? life.created(at: now) : []
  return NewTrip(
    id: id,
    definition: TripDefinition(
      app: app, typeName: "fieldTrip", name: "Meadow", notebook: "Birds",
      attributes: bytes(#"{"name":"Meadow"}"#), storagePolicy: .mostRecent),
    contentState: bytes(state), life: life, actions: actions)
}

func trigger(
  _ id: String, _ trip: TripID, _ kind: LogEntry.Kind = .note, ifRevision: Int64? = nil
) throws -> NewTrigger {
  NewTrigger(
    trip: trip, kind: kind, id: try TriggerID(id), body: bytes("{\"id\":\"\(id)\"}"),
    ifRevision: ifRevision.map { Revision($0) })
}

extension TripStore {
  /// Creates a live trip and answers its ID.
  func liveTrip(_ id: TripID = randomTrip()) async throws -> TripID {
    #expect(try await createTrip(newTrip(id), at: start))
    return id
  }

  func own(
    _ partition: Partition = Partition(number: 0), node: String = "a"
  ) async throws -> (owner: Ownership, cursor: LogID) {
    let take = await takeLeases([partition], node: node, life: .seconds(60))[0]
    guard case .taken(let owner, let cursor) = try take.get() else {
      throw Unexpected("\(partition) is held: \(take)")
    }
    return (owner, cursor)
  }

  func entries(after cursor: LogID = .start, limit: Int = 10_000) async throws -> [LogEntry] {
    try await readLog(Partition(number: 0), after: cursor, limit: limit).map { item in
      guard case .entry(let entry) = item else { throw Unexpected("\(item)") }
      return entry
    }
  }
}

struct Unexpected: Error, CustomStringConvertible {
  let description: String
  init(_ description: String) { self.description = description }
}

func expectFenced(
  _ outcome: CommitOutcome, current: Int64, sourceLocation: SourceLocation = #_sourceLocation
) {
  #expect(outcome == .fenced(current: Epoch(current)), sourceLocation: sourceLocation)
}

/// Runs `body` and answers the store's error that it must end in.
func storeError(
  sourceLocation: SourceLocation = #_sourceLocation, _ body: () async throws -> Void
) async -> StoreError? {
  do {
    try await body()
    Issue.record("no error", sourceLocation: sourceLocation)
    return nil
  } catch let error as StoreError {
    return error
  } catch {
    Issue.record("another error: \(error)", sourceLocation: sourceLocation)
    return nil
  }
}
