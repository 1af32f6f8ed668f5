/// Which master of a cluster serves which slot, as one of its nodes saw it.
struct SlotMap: Sendable, Equatable {
  /// In no order that means anything.
  private(set) var masters: [RedisAddress] = []
  /// For finding the cluster again when all masters are gone.
  private(set) var replicas: Set<RedisAddress> = []
  /// The master's place in `masters`; -1 where the cluster has none.
  private var places = [Int16](repeating: -1, count: ClusterSlot.count)

  var isEmpty: Bool { masters.isEmpty }

  var isComplete: Bool { !places.contains(-1) }

  /// Everybody who could be asked for a newer one.
  var nodes: Set<RedisAddress> { replicas.union(masters) }

  /// Nil when the cluster has no master for the slot.
  func place(of slot: Int) -> Int? {
    let place = places[slot]
    return place < 0 ? nil : Int(place)
  }

  func master(of slot: Int) -> RedisAddress? { place(of: slot).map { masters[$0] } }

  /// The cluster said that a slot is elsewhere; the rest will be asked for.
  ///
  /// - Returns: whether the master was known.
  mutating func move(_ slot: Int, to address: RedisAddress) -> Bool {
    guard (0..<ClusterSlot.count).contains(slot), let place = masters.firstIndex(of: address) else {
      return false
    }
    places[slot] = Int16(place)
    return true
  }

  init() {}

  /// Reads the reply to `CLUSTER SLOTS`.
  ///
  /// - Parameter asked: the host that answered: a node that does not know its own address leaves
  ///   it out, and means this one.
  init(_ reply: RESPValue, askedAt asked: String) throws(RedisError) {
    for range in try reply.arrayValue() {
      let parts = try range.arrayValue()
      guard parts.count >= 3 else { throw range.unexpected("a range of slots and its nodes") }
      let first = try parts[0].intValue()
      let last = try parts[1].intValue()
      guard first >= 0, first <= last, last < ClusterSlot.count else {
        throw range.unexpected("a range of slots from 0 to \(ClusterSlot.count - 1)")
      }
      let place = Int16(add(master: try Self.address(parts[2], askedAt: asked)))
      for slot in first...last { places[slot] = place }
      for replica in parts[3...] {
        replicas.insert(try Self.address(replica, askedAt: asked))
      }
    }
    replicas.subtract(masters)
  }

  private mutating func add(master: RedisAddress) -> Int {
    if let place = masters.firstIndex(of: master) { return place }
    masters.append(master)
    return masters.count - 1
  }

  private static func address(
    _ node: RESPValue, askedAt asked: String
  ) throws(RedisError) -> RedisAddress {
    let facts = try node.arrayValue()
    guard facts.count >= 2 else { throw node.unexpected("a node's host and port") }
    var host = try facts[0].optionalString() ?? asked
    if host.isEmpty || host == "?" { host = asked }
    let port = try facts[1].intValue()
    guard (1...65_535).contains(port) else {
      throw .unexpectedReply(
        "The cluster names its node \(host) with port \(port). One that takes TLS only needs "
          + "tls-cluster yes.")
    }
    return RedisAddress(host: host, port: port)
  }
}
