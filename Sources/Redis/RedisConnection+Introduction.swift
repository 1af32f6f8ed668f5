internal import Clocks

/// What a server says of itself when we introduce ourselves.
package struct RedisGreeting: Sendable, Equatable {
  /// Such as `7.0.15`; nil when the server did not say.
  package internal(set) var version: String?
  /// `master` or `replica`.
  package internal(set) var role: String?
  /// This connection's number, for `CLIENT UNBLOCK` and `CLIENT KILL`.
  package internal(set) var clientID: Int64?

  /// Whether the server takes no writes.
  package var isReplica: Bool { role == "replica" || role == "slave" }
}

/// What has to be said anew on every connection: the server forgets it with the old one.
extension RedisConnection {
  private enum Step {
    case password, hello, name, database, alive
  }

  /// Sends all of it in one write and looks at the answers in order.
  func introduce(before end: Moment) async throws(RedisError) {
    var batch = RedisBatch()
    var steps: [Step] = []
    if let password = configuration.password {
      // Not as a part of HELLO: servers that do not know HELLO quote its arguments in the error.
      if let user = configuration.user {
        batch.append("AUTH", user, password)
      } else {
        batch.append("AUTH", password)
      }
      steps.append(.password)
    }
    batch.append("HELLO", 2)
    batch.append("CLIENT", "SETNAME", configuration.clientName)
    steps += [.hello, .name]
    if configuration.database != 0 {
      batch.append("SELECT", configuration.database)
      steps.append(.database)
    }
    // The last, because it alone is refused while the server still reads its data from disk.
    batch.append("PING")
    steps.append(.alive)
    let replies = await callAll(batch, before: end)
    for (step, reply) in zip(steps, replies) { try check(step, reply) }
    if configuration.requiresPrimary, greeting.isReplica {
      throw refuse(
        "it is a replica, and takes no writes. The URL must name the primary.", nil)
    }
  }

  private func check(_ step: Step, _ reply: RedisReply) throws(RedisError) {
    switch reply {
    case .success(let value):
      if case .hello = step { greeting = Self.greeting(in: value) }
    case .failure(.refused(let refusal)):
      if Self.isHarmless(refusal, at: step) { return }
      throw refuse("\(refusal)", refusal)
    case .failure(let error):
      throw .notSent(
        error.failure
          ?? RedisFailure(.cannotConnect, "Redis at \(configuration.address): \(error)"))
    }
  }

  /// A name is only for people who look, and so is the version; a user may be allowed neither.
  private static func isHarmless(_ refusal: RedisRefusal, at step: Step) -> Bool {
    switch step {
    case .password, .database: false
    case .hello, .name:
      refusal.kind == .noPermission || refusal.text.hasPrefix("ERR unknown")
    // One that cannot save its data still serves reads and messages.
    case .alive: refusal.kind == .noPermission || refusal.kind == .misconfigured
    }
  }

  private func refuse(_ reason: String, _ refusal: RedisRefusal?) -> RedisError {
    let failure = RedisFailure(
      .cannotConnect, "Redis at \(configuration.address) cannot be used: \(reason)",
      refusal: refusal)
    end(failure)
    return .notSent(failure)
  }

  /// Names and values in turn, of which unknown ones are skipped.
  private static func greeting(in value: RESPValue) -> RedisGreeting {
    var greeting = RedisGreeting()
    guard case .array(let values) = value else { return greeting }
    for index in stride(from: 0, to: values.count - 1, by: 2) {
      guard let name = try? values[index].stringValue() else { continue }
      switch name {
      case "version": greeting.version = try? values[index + 1].stringValue()
      case "role": greeting.role = try? values[index + 1].stringValue()
      case "id": greeting.clientID = try? values[index + 1].integerValue()
      default: break
      }
    }
    return greeting
  }
}
