import Redis

/// The store's scripts about trips, once more.
extension ModelRedis {
  mutating func run(script name: String, _ call: ModelCall) -> RESPValue {
    switch name {
    case "createTrip": createTrip(call)
    case "changeLife": changeLife(call)
    case "forget": forget(call)
    case "append": append(call)
    case "commit": commit(call)
    case "reserve": reserve(call)
    case "record": record(call)
    case "claimDue": claimDue(call)
    case "finishDue": finishDue(call)
    case "changeDue": changeDueItems(call)
    case "takeLease": takeLease(call)
    case "renewLease": renewLease(call)
    case "releaseLease": releaseLease(call)
    case "heartbeat": heartbeat(call)
    case "bury": bury(call)
    default: run(channelScript: name, call)
    }
  }

  // MARK: Trips

  private mutating func createTrip(_ call: ModelCall) -> RESPValue {
    if hashes[call.keys[0]] != nil { return .integer(0) }
    let fields = Int(call.number(2))
    for (name, value) in [("rev", "1"), ("pub", "0"), ("ts", "0")] {
      set(call.keys[0], name, Bytes(value.utf8))
    }
    for index in stride(from: 3, to: 3 + fields, by: 2) {
      set(call.keys[0], call.text(index), call.arguments[index + 1])
    }
    score(call.keys[1], call.text(0), 0)
    insert(call.keys[2], member: call.text(0))
    changeDue(call.keys[3], call, from: 3 + fields)
    announce(call.keys[4], call.arguments[0], "created", at: call.arguments[1])
    return .integer(1)
  }

  private mutating func changeLife(_ call: ModelCall) -> RESPValue {
    guard let life = field(call.keys[0], "life") else { return .array([.integer(-1)]) }
    if life == call.arguments[2] { return .array([.integer(1)]) }
    if life != call.arguments[1] { return .array([.integer(-2), .bulk(life)]) }
    set(call.keys[0], "life", call.arguments[2])
    mark(call.keys[1], call.keys[0], call.text(0))
    changeDue(call.keys[2], call, from: 4)
    announce(call.keys[3], call.arguments[0], "life", at: call.arguments[3])
    return .array([.integer(1)])
  }

  private mutating func forget(_ call: ModelCall) -> RESPValue {
    if let fence = fence(call.keys[0], call.arguments[0]) { return fence }
    if let life = field(call.keys[4], "life"), Self.phase(of: life) != "ended" {
      return .array([.integer(-2)])
    }
    unscore(call.keys[1], call.text(1))
    remove(call.keys[2], member: call.text(1))
    for index in 2..<call.arguments.count { unscore(call.keys[3], call.text(index)) }
    for key in call.keys[4...] {
      hashes[key] = nil
      sets[key] = nil
      streams[key] = nil
      expiries[key] = nil
    }
    return .array([.integer(1)])
  }

  // MARK: The owner's writes

  private mutating func commit(_ call: ModelCall) -> RESPValue {
    if mutation != .commitUnfenced, let fence = fence(call.keys[0], call.arguments[0]) {
      return fence
    }
    let cursor = string(call.keys[1]) ?? Bytes("0-0".utf8)
    let (from, to) = (call.arguments[1], call.arguments[2])
    if cursor == to, cursor != from { return .array([.integer(1)]) }
    if cursor != from, mutation != .commitUnfenced { return .array([.integer(-1), .bulk(cursor)]) }
    let count = Int(call.number(3))
    for index in 0..<count {
      let base = 5 + index * 7
      let (old, new) = (call.arguments[base + 5], call.arguments[base + 6])
      if let life = field(call.keys[5 + index], "life"), !old.isEmpty, life != old, life != new {
        return .array([.integer(-2), .bulk(call.arguments[base]), .bulk(life)])
      }
    }
    for index in 0..<count { commitTrip(index, call) }
    changeDue(call.keys[4], call, from: 5 + count * 7)
    if to != from {
      strings[call.keys[1]] = to
      trim(call.keys[2], below: StreamID(ascii: to) ?? .zero)
    }
    return .array([.integer(1)])
  }

  private mutating func commitTrip(_ index: Int, _ call: ModelCall) {
    let (key, base) = (call.keys[5 + index], 5 + index * 7)
    guard field(key, "life") != nil else { return }
    if !call.arguments[base + 1].isEmpty {
      set(key, "rev", call.arguments[base + 1])
      set(key, "state", call.arguments[base + 2])
      if !call.arguments[4].isEmpty { set(key, "changed", call.arguments[4]) }
    }
    if call.text(base + 3) == "1" { set(key, "memory", call.arguments[base + 4]) }
    if !call.arguments[base + 6].isEmpty { set(key, "life", call.arguments[base + 6]) }
    mark(call.keys[3], key, call.text(base))
  }

  private mutating func reserve(_ call: ModelCall) -> RESPValue {
    if let fence = fence(call.keys[0], call.arguments[0]) { return fence }
    let key = call.keys[1]
    guard let life = field(key, "life") else { return .array([.integer(-1)]) }
    if Self.phase(of: life) != call.text(1) { return .array([.integer(-2), .bulk(life)]) }
    let timestamp =
      mutation == .timestampReused
      ? milliseconds / 1_000 : max(call.number(2), number(key, "ts") + 1)
    set(key, "ts", Bytes("\(timestamp)".utf8))
    if !call.arguments[3].isEmpty {
      set(key, "anchor", mutation == .bucketRefilled ? Bytes("0".utf8) : call.arguments[3])
    }
    if mutation == .publishedTooEarly, let revision = field(key, "rev") {
      set(key, "pub", revision)
    }
    return .array([
      .integer(1), .integer(timestamp), .optional(field(key, "rev")),
      .optional(field(key, "state")), .bulk(life),
    ])
  }

  private mutating func record(_ call: ModelCall) -> RESPValue {
    if let fence = fence(call.keys[0], call.arguments[0]) { return fence }
    let key = call.keys[1]
    guard let life = field(key, "life") else { return .array([.integer(-1)]) }
    if !call.arguments[5].isEmpty, life != call.arguments[5], life != call.arguments[6] {
      return .array([.integer(-2), .bulk(life)])
    }
    var published = number(key, "pub")
    let accepted = call.number(2)
    if accepted > published, accepted <= number(key, "rev") {
      published = accepted
      set(key, "pub", call.arguments[2])
      remove(key, field: "waiting")
    }
    if !call.arguments[3].isEmpty { set(key, "rate", call.arguments[3]) }
    if !call.arguments[4].isEmpty { set(key, "anchor", call.arguments[4]) }
    if !call.arguments[5].isEmpty { set(key, "life", call.arguments[6]) }
    if !call.arguments[7].isEmpty { _ = add(call.keys[4], [Bytes("b".utf8), call.arguments[7]]) }
    if !call.arguments[9].isEmpty { set(key, "waiting", call.arguments[9]) }
    if call.text(11) == "1" {
      set(key, "quiet", call.arguments[10])
    } else if !call.arguments[10].isEmpty, accepted == published {
      set(key, "shown", call.arguments[10])
      remove(key, field: "quiet")
    }
    mark(call.keys[2], key, call.text(1))
    changeDue(call.keys[3], call, from: 12)
    return .array([.integer(1), .integer(published)])
  }

  // MARK: What is due

  private mutating func claimDue(_ call: ModelCall) -> RESPValue {
    if call.keys.count > 1, let fence = fence(call.keys[1], call.arguments[3]) { return fence }
    var answer: [RESPValue] = [.integer(1)]
    let due = inOrder(call.keys[0]).prefix { $0.score <= call.number(0) }
    for item in due.prefix(Int(call.number(2))) {
      if mutation == .dueRemoved {
        unscore(call.keys[0], item.member)
      } else {
        score(call.keys[0], item.member, call.number(1))
      }
      answer += [.text(item.member), .text("\(item.score)")]
    }
    return .array(answer)
  }

  private mutating func finishDue(_ call: ModelCall) -> RESPValue {
    var removed = 0
    for index in stride(from: 0, to: call.arguments.count, by: 2) {
      let item = call.text(index + 1)
      guard sortedSets[call.keys[0]]?[item] == call.number(index) else { continue }
      if unscore(call.keys[0], item) { removed += 1 }
    }
    return .number(removed)
  }

  private mutating func changeDueItems(_ call: ModelCall) -> RESPValue {
    changeDue(call.keys[0], call, from: 0)
    return .integer(1)
  }

  // MARK: Leases

  private mutating func takeLease(_ call: ModelCall) -> RESPValue {
    if let holder = string(call.keys[0]), holder != call.arguments[0] {
      let rest = (expiries[call.keys[0]] ?? 0) - milliseconds
      return .array([.integer(0), .bulk(holder), .integer(rest)])
    }
    let last = string(call.keys[1]).flatMap(RESPValue.integer) ?? 0
    let epoch = max(last + 1, milliseconds)
    strings[call.keys[1]] = Bytes("\(epoch)".utf8)
    hold(call.keys[0], call.arguments[0], call.number(1))
    return .array([.integer(1), .text("\(epoch)"), .optional(string(call.keys[2]))])
  }

  private mutating func renewLease(_ call: ModelCall) -> RESPValue {
    let epoch = string(call.keys[1]) ?? Bytes("0".utf8)
    let holder = string(call.keys[0]) ?? call.arguments[0]
    if epoch != call.arguments[1] || holder != call.arguments[0] {
      return .array([.integer(0), .integer(RESPValue.integer(in: epoch) ?? 0)])
    }
    hold(call.keys[0], call.arguments[0], call.number(2))
    return .array([.integer(1)])
  }

  private mutating func releaseLease(_ call: ModelCall) -> RESPValue {
    guard string(call.keys[0]) == call.arguments[0], string(call.keys[1]) == call.arguments[1]
    else { return .integer(0) }
    strings[call.keys[0]] = nil
    expiries[call.keys[0]] = nil
    return .integer(1)
  }

  private mutating func hold(_ key: String, _ node: Bytes, _ life: Int64) {
    strings[key] = node
    expiries[key] = milliseconds + life
  }

  private mutating func heartbeat(_ call: ModelCall) -> RESPValue {
    score(call.keys[0], call.text(0), milliseconds)
    for node in inOrder(call.keys[0]) where node.score <= milliseconds - call.number(1) {
      unscore(call.keys[0], node.member)
    }
    return .array(inOrder(call.keys[0]).map { .text($0.member) })
  }

  private mutating func bury(_ call: ModelCall) -> RESPValue {
    let names = ["reason", "message", "door", "excerpt", "at"]
    let fields = names.enumerated().flatMap { index, name in
      [Bytes(name.utf8), call.arguments[index + 1]]
    }
    return .text("\(add(call.keys[0], fields))")
  }

  // MARK: What several scripts share

  /// The answer of a script that is not the owner's; nil when it is.
  mutating func fence(_ key: String, _ epoch: Bytes) -> RESPValue? {
    let current = string(key) ?? Bytes("0".utf8)
    return current == epoch
      ? nil : .array([.integer(0), .integer(RESPValue.integer(in: current)!)])
  }

  func number(_ key: String, _ name: String) -> Int64 {
    field(key, name).flatMap(RESPValue.integer) ?? 0
  }

  static func phase(of life: Bytes) -> String {
    String(decoding: life.prefix { $0 != UInt8(ascii: " ") }, as: UTF8.self)
  }

  mutating func mark(_ unpublished: String, _ key: String, _ trip: String) {
    let phase = Self.phase(of: field(key, "life") ?? [])
    let isAhead = number(key, "rev") > number(key, "pub")
    if phase == "ending" || (phase != "ended" && isAhead), mutation != .unpublishedForgotten {
      insert(unpublished, member: trip)
    } else {
      remove(unpublished, member: trip)
    }
  }

  mutating func changeDue(_ key: String, _ call: ModelCall, from: Int) {
    for index in stride(from: from, to: call.arguments.count, by: 2) {
      let item = call.text(index + 1)
      if call.arguments[index].isEmpty {
        unscore(key, item)
      } else {
        score(key, item, call.number(index))
      }
    }
  }

  mutating func announce(_ log: String, _ trip: Bytes, _ kind: String, at time: Bytes) {
    _ = add(
      log, [Bytes("t".utf8), trip, Bytes("k".utf8), Bytes(kind.utf8), Bytes("a".utf8), time])
  }
}
