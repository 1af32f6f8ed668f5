import Redis

typealias Bytes = [UInt8]

/// What a Redis server holds and does, as far as the store uses it: a value, so that a simulation
/// may keep what it was and go back to it, as a server does that lost its last seconds.
///
/// The store's scripts are written out once more here. That they do the same as the real ones is
/// checked against a real server; see ``ConformanceRun``.
struct ModelRedis {
  struct Stream {
    struct Entry {
      let id: StreamID
      /// Names and values in turn.
      let fields: [Bytes]
    }

    var entries: [Entry] = []
    var last = StreamID.zero
  }

  /// The server's clock, microseconds since 1970; whoever drives the model moves it.
  var microseconds: Int64
  var strings: [String: Bytes] = [:]
  var hashes: [String: [String: Bytes]] = [:]
  var sets: [String: Set<String>] = [:]
  /// Members with their scores, which the store only ever makes of whole numbers.
  var sortedSets: [String: [String: Int64]] = [:]
  var streams: [String: Stream] = [:]
  /// When a key expires, in milliseconds since 1970.
  var expiries: [String: Int64] = [:]
  /// Channels that were published to since somebody looked.
  var published: [String] = []
  /// What is deliberately wrong with the scripts.
  var mutation: Mutation?

  init(microseconds: Int64, mutation: Mutation? = nil) {
    self.microseconds = microseconds
    self.mutation = mutation
  }

  var milliseconds: Int64 { microseconds / 1_000 }

  mutating func run(_ call: ModelCall) -> RESPValue {
    call.script.map { run(script: $0, call) } ?? run(command: call)
  }

  // MARK: Strings

  mutating func string(_ key: String) -> Bytes? {
    if let expiry = expiries[key], expiry <= milliseconds {
      strings[key] = nil
      expiries[key] = nil
    }
    return strings[key]
  }

  // MARK: Hashes

  func field(_ key: String, _ name: String) -> Bytes? { hashes[key]?[name] }

  mutating func set(_ key: String, _ name: String, _ value: Bytes) {
    hashes[key, default: [:]][name] = value
  }

  /// - Returns: whether there was such a field.
  @discardableResult
  mutating func remove(_ key: String, field name: String) -> Bool {
    let had = hashes[key]?.removeValue(forKey: name) != nil
    if hashes[key]?.isEmpty == true { hashes[key] = nil }
    return had
  }

  // MARK: Sets

  /// - Returns: whether it is new.
  @discardableResult
  mutating func insert(_ key: String, member: String) -> Bool {
    sets[key, default: []].insert(member).inserted
  }

  @discardableResult
  mutating func remove(_ key: String, member: String) -> Bool {
    let had = sets[key]?.remove(member) != nil
    if sets[key]?.isEmpty == true { sets[key] = nil }
    return had
  }

  // MARK: Sorted sets

  mutating func score(_ key: String, _ member: String, _ score: Int64) {
    sortedSets[key, default: [:]][member] = score
  }

  @discardableResult
  mutating func unscore(_ key: String, _ member: String) -> Bool {
    let had = sortedSets[key]?.removeValue(forKey: member) != nil
    if sortedSets[key]?.isEmpty == true { sortedSets[key] = nil }
    return had
  }

  func inOrder(_ key: String) -> [(member: String, score: Int64)] {
    (sortedSets[key] ?? [:]).map { ($0.key, $0.value) }.sorted { left, right in
      if left.1 != right.1 { return left.1 < right.1 }
      return left.0.utf8.lexicographicallyPrecedes(right.0.utf8)
    }
  }

  // MARK: Streams

  mutating func add(_ key: String, _ fields: [Bytes]) -> StreamID {
    let last = streams[key]?.last ?? .zero
    let now = UInt64(milliseconds)
    let id =
      now > last.milliseconds
      ? StreamID(milliseconds: now, sequence: 0)
      : StreamID(milliseconds: last.milliseconds, sequence: last.sequence + 1)
    streams[key, default: Stream()].entries.append(Stream.Entry(id: id, fields: fields))
    streams[key]?.last = id
    return id
  }

  func entries(_ key: String, after id: StreamID, count: Int) -> ArraySlice<Stream.Entry> {
    guard let entries = streams[key]?.entries else { return [] }
    let first = entries.partitioningIndex { $0.id > id }
    return entries[first...].prefix(count)
  }

  mutating func trim(_ key: String, below id: StreamID) {
    guard let first = streams[key]?.entries.partitioningIndex(where: { $0.id >= id }), first > 0
    else { return }
    streams[key]?.entries.removeFirst(first)
  }
}

extension Array {
  /// The first index for which `isBehind` holds, which from there on holds for all.
  func partitioningIndex(where isBehind: (Element) -> Bool) -> Int {
    var (low, high) = (0, count)
    while low < high {
      let middle = (low + high) / 2
      if isBehind(self[middle]) { high = middle } else { low = middle + 1 }
    }
    return low
  }
}
