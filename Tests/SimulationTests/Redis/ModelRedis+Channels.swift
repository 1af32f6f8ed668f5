import Redis

/// The scripts about an app's channels.
extension ModelRedis {
  mutating func run(channelScript name: String, _ call: ModelCall) -> RESPValue {
    switch name {
    case "takeChannel": takeChannel(call)
    case "intendChannel": intend(call)
    case "intendWarm": intendWarm(call)
    case "retireWarm": retireWarm(call)
    case "channelCreated": channelCreated(call)
    case "retireChannel": retireChannel(call)
    case "channelDeleted": channelDeleted(call)
    default: fatalError("the model of Redis does not know the script \(name)")
    }
  }

  private mutating func takeChannel(_ call: ModelCall) -> RESPValue {
    let (assigned, channels, warm) = (call.keys[0], call.keys[1], call.keys[2])
    if let channel = field(assigned, call.text(0)) { return .bulk(channel) }
    guard let oldest = inOrder(warm).first?.member else { return .null }
    unscore(warm, oldest)
    set(assigned, call.text(0), Bytes(oldest.utf8))
    set(channels, oldest, Self.record(field(channels, oldest), as: "trip \(call.text(0))"))
    return .text(oldest)
  }

  private mutating func intend(_ call: ModelCall) -> RESPValue {
    if !call.arguments[2].isEmpty, let channel = field(call.keys[3], call.text(2)) {
      return .array([.integer(2), .bulk(channel)])
    }
    let isKnown = field(call.keys[0], call.text(0)) != nil
    let used = used(call)
    if !isKnown, used >= call.number(3) { return .array([.integer(0), .number(used)]) }
    set(call.keys[0], call.text(0), call.arguments[1])
    return .array([.integer(1)])
  }

  private mutating func intendWarm(_ call: ModelCall) -> RESPValue {
    if field(call.keys[0], call.text(0)) != nil { return .array([.integer(1)]) }
    let creations = hashes[call.keys[0]] ?? [:]
    let coming = creations.values.count { $0.starts(with: call.arguments[2]) }
    let warm = sortedSets[call.keys[3]]?.count ?? 0
    if warm + coming >= call.number(3) { return .array([.integer(2)]) }
    let used = used(call)
    if used + 1 >= call.number(4) { return .array([.integer(0), .number(used)]) }
    set(call.keys[0], call.text(0), call.arguments[1])
    return .array([.integer(1)])
  }

  /// Creations, channels and foreign ones.
  private func used(_ call: ModelCall) -> Int {
    (hashes[call.keys[0]]?.count ?? 0) + (hashes[call.keys[1]]?.count ?? 0)
      + (sets[call.keys[2]]?.count ?? 0)
  }

  private mutating func retireWarm(_ call: ModelCall) -> RESPValue {
    var retired = 0
    while retired < 100, let oldest = inOrder(call.keys[0]).first {
      let isEnough = sortedSets[call.keys[0]]?.count ?? 0 <= Int(call.number(1))
      if oldest.score >= call.number(0), isEnough { break }
      unscore(call.keys[0], oldest.member)
      let record = field(call.keys[1], oldest.member)
      set(call.keys[1], oldest.member, Self.record(record, as: "deletion -"))
      score(call.keys[2], oldest.member, call.number(2))
      retired += 1
    }
    return .number(retired)
  }

  private mutating func channelCreated(_ call: ModelCall) -> RESPValue {
    let (channel, trip) = (call.text(1), call.text(2))
    remove(call.keys[0], field: call.text(0))
    remove(call.keys[4], member: channel)
    if let record = field(call.keys[1], channel) { return .bulk(record) }
    if !trip.isEmpty, field(call.keys[2], trip) == nil {
      set(call.keys[2], trip, call.arguments[1])
      set(call.keys[1], channel, call.arguments[3])
      return .bulk(call.arguments[3])
    }
    set(call.keys[1], channel, call.arguments[4])
    score(call.keys[3], channel, call.number(5))
    return .bulk(call.arguments[4])
  }

  private mutating func retireChannel(_ call: ModelCall) -> RESPValue {
    let channel = call.text(0)
    guard let record = field(call.keys[0], channel) else { return .integer(0) }
    let words = String(decoding: record, as: UTF8.self).split(separator: " ")
    if words[0] == "deletion" {
      if let at = sortedSets[call.keys[4]]?[channel], at <= call.number(1) { return .integer(1) }
      score(call.keys[4], channel, call.number(1))
      return .integer(1)
    }
    release(channel, words, call.keys[1])
    unscore(call.keys[2], channel)
    unscore(call.keys[3], channel)
    set(call.keys[0], channel, Self.record(record, as: "deletion -"))
    score(call.keys[4], channel, call.number(1))
    return .integer(1)
  }

  private mutating func channelDeleted(_ call: ModelCall) -> RESPValue {
    let channel = call.text(0)
    remove(call.keys[5], member: channel)
    guard let record = field(call.keys[0], channel) else { return .integer(0) }
    let words = String(decoding: record, as: UTF8.self).split(separator: " ")
    release(channel, words, call.keys[1])
    for key in call.keys[2...4] { unscore(key, channel) }
    return .number(remove(call.keys[0], field: channel) ? 1 : 0)
  }

  private mutating func release(_ channel: String, _ words: [Substring], _ assigned: String) {
    guard words[0] == "trip", field(assigned, String(words[1])) == Bytes(channel.utf8) else {
      return
    }
    remove(assigned, field: String(words[1]))
  }

  /// A record with another use, its storage policy and time of creation kept.
  private static func record(_ record: Bytes?, as use: String) -> Bytes {
    let words = String(decoding: record ?? [], as: UTF8.self).split(separator: " ").suffix(2)
    return Bytes("\(use) \(words.joined(separator: " "))".utf8)
  }
}
