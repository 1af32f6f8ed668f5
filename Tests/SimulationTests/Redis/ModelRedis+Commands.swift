import Redis

/// The commands that the store calls by themselves.
extension ModelRedis {
  mutating func run(command call: ModelCall) -> RESPValue {
    switch call.text(0) {
    case "GET": return .optional(string(call.text(1)))
    case "HGET": return .optional(field(call.text(1), call.text(2)))
    case "HGETALL": return fields(of: call.text(1))
    case "HMGET":
      return .array(
        (2..<call.arguments.count).map { .optional(field(call.text(1), call.text($0))) })
    case "HLEN": return .number(hashes[call.text(1)]?.count ?? 0)
    case "HDEL": return .number(remove(call.text(1), field: call.text(2)) ? 1 : 0)
    case "HSCAN": return .array([.text("0"), fields(of: call.text(1))])
    case "SMEMBERS": return members(of: call.text(1))
    case "SSCAN": return .array([.text("0"), members(of: call.text(1))])
    case "SCARD": return .number(sets[call.text(1)]?.count ?? 0)
    case "ZCARD": return .number(sortedSets[call.text(1)]?.count ?? 0)
    case "ZREM": return .number(unscore(call.text(1), call.text(2)) ? 1 : 0)
    case "ZRANGE": return first(of: call)
    case "XLEN": return .number(streams[call.text(1)]?.entries.count ?? 0)
    case "XRANGE": return range(call)
    case "PUBLISH":
      published.append(call.text(1))
      return .integer(0)
    default: fatalError("the model of Redis does not know \(call.label)")
    }
  }

  private func fields(of key: String) -> RESPValue {
    let fields = (hashes[key] ?? [:]).sorted { $0.key < $1.key }
    return .array(fields.flatMap { [.text($0.key), .bulk($0.value)] })
  }

  private func members(of key: String) -> RESPValue {
    .array((sets[key] ?? []).sorted().map(RESPValue.text))
  }

  /// `ZRANGE key 0 0 WITHSCORES`.
  private func first(of call: ModelCall) -> RESPValue {
    precondition(call.arguments.count == 5, "the model knows one form of ZRANGE")
    guard let first = inOrder(call.text(1)).first else { return .array([]) }
    return .array([.text(first.member), .text("\(first.score)")])
  }

  /// `XRANGE key (id + COUNT n`, or `XRANGE key id id`.
  private func range(_ call: ModelCall) -> RESPValue {
    let key = call.text(1)
    let found =
      call.arguments.count == 4
      ? (streams[key]?.entries ?? []).filter { "\($0.id)" == call.text(2) }
      : Array(
        entries(key, after: StreamID(call.text(2).dropFirst()) ?? .zero, count: Int(call.number(5)))
      )
    return .array(
      found.map { .array([.text("\($0.id)"), .array($0.fields.map(RESPValue.bulk))]) })
  }
}
