package import FieldTrips
internal import Redis

/// Who a registration is of: a member by name or, where the caller named none, the device itself.
package enum PersonID: Hashable, Sendable {
  case member(MemberID)
  /// By a digest of its token, so that the token itself is no name.
  case device(digest: String)

  var field: String {
    switch self {
    case .member(let member): "m:" + member.text
    case .device(let digest): "d:" + digest
    }
  }
}

extension TripStore {
  /// Changes what is kept of a person, by what is in the store at that moment: several devices may
  /// register at once, and none of them may be lost.
  ///
  /// - Parameter change: may be called again, with what another change left.
  /// - Returns: the person as stored now.
  @discardableResult
  package func changePerson(
    _ person: PersonID, _ change: (inout Person) -> Void
  ) async throws(StoreError) -> Person {
    await turns.take(person.field)
    defer { turns.give(person.field) }
    let keys = keys(Partition(ofName: person.field, count: partitionCount))
    var present = try await call(RedisCommand("HGET", keys.people, person.field))
    for _ in 0..<Self.mostTries {
      let before = try reading { () throws(RedisError) in
        present.isNull ? [] : try present.bytesValue()
      }
      var changed = Person(stored: before)
      change(&changed)
      let after = changed.written()
      guard after != before else { return changed }
      let reply = try await call(
        RedisCommand(
          Self.putPersonScript, keys: [keys.people], arguments: person.field, before, after))
      let (code, rest) = try reading { () throws(RedisError) in try reply.codedAnswer() }
      if code == 1 { return changed }
      present = rest.value(0)
    }
    throw .unreachable(
      "A person's devices were changed by other nodes \(Self.mostTries) times meanwhile.")
  }

  /// What is kept of people; of one who never registered, nothing.
  package func people(_ ids: [PersonID]) async -> [Result<Person, StoreError>] {
    var batch = RedisBatch()
    for id in ids {
      let keys = keys(Partition(ofName: id.field, count: partitionCount))
      batch.append("HGET", keys.people, id.field, isRepeatable: true)
    }
    return await callAll(batch) { (_, reply) throws(RedisError) in
      Person(stored: reply.isNull ? [] : try reply.bytesValue())
    }
  }

  /// Forgets who was not named for long, and tokens of others that were not: apps name theirs
  /// whenever they start.
  ///
  /// - Parameter day: the first one, counted from 1970, that is recent enough.
  /// - Returns: how many people were forgotten or have fewer tokens now.
  package func forgetPeople(unseenSince day: Int64) async throws(StoreError) -> Int {
    var forgotten = 0
    for number in 0..<partitionCount {
      let keys = keys(Partition(number: number))
      var cursor: String? = "0"
      while let place = cursor {
        let reply = try await call(RedisCommand("HSCAN", keys.people, place, "COUNT", 500))
        let (next, values) = try reading { () throws(RedisError) in try Self.scanned(reply) }
        cursor = next
        for index in stride(from: 0, to: values.count - 1, by: 2) {
          let (field, record) = try reading { () throws(RedisError) in
            (try values[index].stringValue(), try values[index + 1].bytesValue())
          }
          var person = Person(stored: record)
          person.removeTokens(unseenSince: day)
          let isForgotten = person.lastDay < day && person.tokens.tokens.isEmpty
          let left = isForgotten ? [] : person.written()
          guard left != record else { continue }
          let reply = try await call(
            RedisCommand(
              Self.putPersonScript, keys: [keys.people], arguments: field, record, left))
          let (code, _) = try reading { () throws(RedisError) in try reply.codedAnswer() }
          forgotten += Int(code)
        }
      }
    }
    return forgotten
  }

  static let putPersonScript = RedisScript(
    name: "putPerson",
    source: #"""
      #!lua
      -- Stores what is kept of a person, if the record in the store is the one that was read.
      -- KEYS 1 people
      -- ARGV 1 person, 2 record as it was read or '', 3 new record or '' to forget the person
      -- Answers {1}, or {0, record}: it is another one
      local current = redis.call('HGET', KEYS[1], ARGV[1]) or ''
      if current == ARGV[3] then return { 1 } end
      if current ~= ARGV[2] then return { 0, current } end
      if ARGV[3] == '' then redis.call('HDEL', KEYS[1], ARGV[1])
      else redis.call('HSET', KEYS[1], ARGV[1], ARGV[3]) end
      return { 1 }
      """#,
    isSafeToRepeat: true)
}
