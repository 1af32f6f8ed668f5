package import FieldTrips
package import Redis

/// Waits for log entries of many partitions on a connection of its own, since a blocking read holds
/// up everything behind it.
///
/// One read names logs of several hash slots, so it works with a single server; in a cluster poll
/// ``TripStore/readLogs(_:limit:)``.
package struct LogWatcher: Sendable {
  private let tail: StreamTail
  private let store: TripStore

  /// - Parameters:
  ///   - configuration: for the connection that waits.
  ///   - commands: the client of `store`; not closed with this.
  ///   - limit: entries of each log in one read.
  package init(
    configuration: RedisConfiguration, commands: RedisClient, store: TripStore, limit: Int = 256
  ) {
    tail = StreamTail(configuration: configuration, commands: commands, count: limit)
    self.store = store
  }

  /// Reads these partitions too, or reads them from another place.
  package func follow(_ cursors: [(partition: Partition, after: LogID)]) async {
    await tail.follow(
      cursors.map { (key: store.keys($0.partition).log, after: $0.after.streamID) })
  }

  /// Reads this partition no more.
  package func forget(_ partition: Partition) async {
    await tail.forget(store.keys(partition).log)
  }

  /// The next entries of one partition or several; waits until there are any.
  ///
  /// Reading goes on behind what was returned, whether it is committed or not.
  ///
  /// - Throws: also when it was closed. After other errors call again.
  package func next() async throws(StoreError) -> [(partition: Partition, items: [LogItem])] {
    do throws(RedisError) {
      var found: [(partition: Partition, items: [LogItem])] = []
      for batch in try await tail.next() {
        guard let partition = Self.partition(ofLog: batch.key) else { continue }
        found.append((partition, batch.entries.map(LogItem.init)))
      }
      return found
    } catch {
      throw StoreError(error)
    }
  }

  /// Ends it; a call of ``next()`` that waits throws.
  package func close() async { await tail.close() }

  /// `fc:{p042}:log`.
  static func partition(ofLog key: String) -> Partition? {
    let parts = key.split(separator: ":")
    guard parts.count == 3, parts[0] == "fc", parts[2] == "log", parts[1].hasPrefix("{p"),
      parts[1].hasSuffix("}"), let number = Int(parts[1].dropFirst(2).dropLast())
    else { return nil }
    return Partition(number: number)
  }
}
