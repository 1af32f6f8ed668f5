package import FieldTrips
package import Redis

/// Everything that Fieldcast keeps in Redis, as typed calls.
///
/// A value without knowledge of its own: what it knows is in Redis. Each call that changes something is
/// one script, so it happens wholly or not at all, and each may be made again when its outcome is
/// unknown. Calls throw ``StoreError`` when there is no answer; what the rules refuse is part of
/// the answer.
///
/// Scripts of owners may run beyond `maxmemory` and scripts of intake may not: at the limit the
/// service refuses new work, works off the log, and so makes room.
package struct TripStore: Sendable {
  /// The version of the data that this program writes and reads.
  package static let dataVersion = 1

  package let partitionCount: Int
  let redis: any RedisCaller
  private let partitionKeys: [PartitionKeys]
  /// For what is changed by what was read of it.
  let turns = Turns()

  /// - Parameter partitionCount: 1...65536. Must never change while Redis holds trips;
  ///   ``open()`` checks it.
  package init(redis: any RedisCaller, partitionCount: Int = Partition.defaultCount) {
    precondition((1...65_536).contains(partitionCount), "1 to 65536 partitions are possible")
    self.redis = redis
    self.partitionCount = partitionCount
    partitionKeys = (0..<partitionCount).map { PartitionKeys(Partition(number: $0)) }
  }

  package var partitions: [Partition] { (0..<partitionCount).map(Partition.init(number:)) }

  package func partition(of trip: TripID) -> Partition {
    Partition(of: trip, count: partitionCount)
  }

  func keys(_ partition: Partition) -> PartitionKeys { partitionKeys[partition.number] }
  func keys(of trip: TripID) -> PartitionKeys { keys(partition(of: trip)) }

  func call(_ command: RedisCommand) async throws(StoreError) -> RESPValue {
    do throws(RedisError) {
      return try await redis.call(command, deadline: nil)
    } catch {
      throw StoreError(error)
    }
  }

  /// Sends a batch and reads each reply by itself.
  func callAll<Answer>(
    _ batch: RedisBatch, _ read: (Int, RESPValue) throws(RedisError) -> Answer
  ) async -> [Result<Answer, StoreError>] {
    guard !batch.isEmpty else { return [] }
    let replies = await redis.callAll(batch, deadline: nil)
    var answers: [Result<Answer, StoreError>] = []
    answers.reserveCapacity(replies.count)
    for (index, reply) in replies.enumerated() {
      do throws(RedisError) {
        answers.append(.success(try read(index, try reply.get())))
      } catch {
        answers.append(.failure(StoreError(error)))
      }
    }
    return answers
  }
}

/// Runs what reads a reply, and makes a store's error of what it finds wrong.
func reading<Answer>(
  _ body: () throws(RedisError) -> Answer
) throws(StoreError) -> Answer {
  do throws(RedisError) {
    return try body()
  } catch {
    throw StoreError(error)
  }
}

extension RESPValue {
  /// The reply `[code, …]` of a script, taken apart.
  func codedAnswer() throws(RedisError) -> (code: Int, rest: ArraySlice<RESPValue>) {
    if case .integer(let code) = self { return (Int(code), []) }
    let values = try arrayValue()
    guard let first = values.first else { throw unexpected("an answer with a code") }
    return (try first.intValue(), values.dropFirst())
  }
}

extension ArraySlice<RESPValue> {
  /// The value at `offset` from the slice's start; nothing, when it is shorter.
  func value(_ offset: Int) -> RESPValue {
    offset < count ? self[startIndex + offset] : .null
  }
}
