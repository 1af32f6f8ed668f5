internal import Clocks
internal import FieldTrips
internal import Transport
internal import TripStore

/// Holds this node's share of the partitions: says that the node lives, sees who else does, takes
/// what is its own and gives up what is not.
actor LeaseKeeper {
  nonisolated var unownedExecutor: UnownedSerialExecutor {
    loop.serial.asUnownedSerialExecutor()
  }

  private nonisolated let loop: EventLoop
  private let store: TripStore
  private let owner: Owner
  private let node: String
  private let leaseLife: Duration
  private let log: ServiceLog
  private var isDraining = false
  /// When each of our leases was last known to hold; real time.
  private var renewedAt: [Ownership: Moment] = [:]

  /// - Parameters:
  ///   - node: unique among running nodes, the same after a restart.
  ///   - leaseLife: real time, 1 s or more: so long a killed node's partitions have no owner.
  init(
    node: String, leaseLife: Duration, store: TripStore, owner: Owner, log: ServiceLog,
    loop: EventLoop
  ) {
    self.node = node
    self.leaseLife = leaseLife
    self.store = store
    self.owner = owner
    self.log = log
    self.loop = loop
  }

  /// Keeps leases until cancelled, which is after they were given up: what is under way when a stop
  /// begins needs them.
  func run() async {
    await withDiscardingTaskGroup { group in
      // Apart from each other: a part of Redis that does not answer must not hold up leases that
      // another part keeps.
      group.addTask { await self.renewRegularly() }
      repeat {
        await keep()
      } while (try? await loop.sleep(for: leaseLife / 3)) != nil
    }
  }

  private func renewRegularly() async {
    while (try? await loop.sleep(for: leaseLife / 3)) != nil { await renew() }
  }

  /// One round: afterwards this node holds its share, as far as it is free.
  func keep() async {
    let nodes: [String]
    do throws(StoreError) {
      nodes = try await store.heartbeat(node: node, window: leaseLife)
    } catch {
      return log.warning("no heartbeat: Redis does not answer", ["reason": "\(error)"])
    }
    let share = Set(store.partitions.filter { Self.owner(of: $0, among: nodes) == node })
    await giveUp(beyond: share)
    await takeOver(share)
  }

  /// Gives all partitions up, so that other nodes need not wait.
  func drain() async {
    isDraining = true
    let held = await owner.ownerships
    for ownership in held { await owner.drop(ownership.partition) }
    for case .failure(let error) in await store.releaseLeases(held, node: node) {
      log.warning("a lease could not be given up; it will expire", ["reason": "\(error)"])
      break
    }
    // Without this the others would wait for the heartbeat to run out.
    try? await store.signOff(node: node)
  }

  /// The node to which a partition belongs: the one with the highest weight for it (rendezvous
  /// hashing), so that a node that comes or goes moves only its own share.
  static func owner(of partition: Partition, among nodes: [String]) -> String? {
    nodes.max { weight($0, partition) < weight($1, partition) }
  }

  private static func weight(_ node: String, _ partition: Partition) -> UInt64 {
    var hash: UInt64 = 0xcbf2_9ce4_8422_2325
    for byte in node.utf8 { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01b3 }
    hash ^= UInt64(partition.number) &* 0x9e37_79b9_7f4a_7c15
    hash = (hash ^ (hash >> 30)) &* 0xbf58_476d_1ce4_e5b9
    hash = (hash ^ (hash >> 27)) &* 0x94d0_49bb_1331_11eb
    return hash ^ (hash >> 31)
  }

  private func renew() async {
    let held = await owner.ownerships
    guard !held.isEmpty, !isDraining else { return }
    let before = loop.clockReading
    let answers = await store.renewLeases(held, node: node, life: leaseLife)
    for (ownership, answer) in zip(held, answers) {
      switch answer {
      case .success(.renewed): renewedAt[ownership] = before
      case .success(.lost): await owner.drop(ownership.partition)
      case .failure: break
      }
    }
    await giveUpExpired()
  }

  /// A node that cannot reach a partition's Redis stops publishing for it once others may have taken
  /// over.
  private func giveUpExpired() async {
    let held = await owner.ownerships
    let now = loop.clockReading
    for ownership in held where now > (renewedAt[ownership] ?? .distantPast) + leaseLife {
      await owner.drop(ownership.partition)
    }
    renewedAt = renewedAt.filter { now <= $0.value + leaseLife }
  }

  private func giveUp(beyond share: Set<Partition>) async {
    let surplus = await owner.ownerships.filter { !share.contains($0.partition) }
    guard !surplus.isEmpty else { return }
    for ownership in surplus { await owner.drop(ownership.partition) }
    _ = await store.releaseLeases(surplus, node: node)
  }

  private func takeOver(_ share: Set<Partition>) async {
    let held = Set(await owner.ownerships.map(\.partition))
    let missing = share.subtracting(held).sorted { $0.number < $1.number }
    guard !missing.isEmpty, !isDraining else { return }
    let before = loop.clockReading
    let answers = await store.takeLeases(missing, node: node, life: leaseLife)
    var taken: [(Ownership, LogID)] = []
    for case .success(.taken(let ownership, let cursor)) in answers {
      taken.append((ownership, cursor))
      renewedAt[ownership] = before
    }
    if isDraining {
      // The stop came while we waited, and gave up what we had by then.
      _ = await store.releaseLeases(taken.map(\.0), node: node)
      return
    }
    await withDiscardingTaskGroup { group in
      for (ownership, cursor) in taken {
        group.addTask { await self.owner.took(ownership, cursor: cursor) }
      }
    }
    if !taken.isEmpty { log.info("took over partitions", ["count": "\(taken.count)"]) }
  }
}
