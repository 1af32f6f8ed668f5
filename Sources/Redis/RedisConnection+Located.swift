internal import Clocks
internal import Transport

extension RedisConnection {
  /// Connects to where a locator says, and tells it when that was wrong.
  ///
  /// - Parameters:
  ///   - configuration: for all that the locator does not say; and where to, if there is none.
  ///   - astray: where the connection before led wrongly.
  static func connect(
    _ configuration: RedisConfiguration, by locator: (any RedisLocator)?,
    astray: RedisConfiguration? = nil, loop: EventLoop
  ) async throws(RedisError) -> RedisConnection {
    guard let locator else { return try await connect(configuration, loop: loop) }
    if let astray { await locator.noteWrong(astray) }
    var target = try await locator.locate(
      before: MonotonicClock.now() + configuration.connectDeadline)
    // Who subscribes or blocks waits for no replica.
    target.replicas = configuration.replicas
    do throws(RedisError) {
      return try await connect(target, loop: loop)
    } catch {
      await locator.noteWrong(target)
      throw error
    }
  }
}
