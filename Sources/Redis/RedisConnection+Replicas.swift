internal import Clocks

/// Waiting for replicas: a primary answers before its replicas have a write, and a failover in that
/// moment loses what was answered. So `WAIT` goes behind each write to the stream, and the replies
/// before it count once enough replicas have confirmed.
///
/// Redis lets nothing of a connection run while it waits, so a turn's commands cost one round trip
/// to a replica, however many they are. It makes losing an answer unlikely and not impossible: in a
/// failover the replica that has most of the data is preferred, and nothing forces that.
extension RedisConnection {
  enum HeldReply {
    case one(UnsafeContinuation<RedisReply, Never>, RedisReply)
    case all(UnsafeContinuation<[RedisReply], Never>, [RedisReply])
  }

  func beginToAwaitReplicas() { replicasAwaited = configuration.replicas }

  func askForReplicas() {
    let span = Int(configuration.replicaDeadline / .milliseconds(1))
    RedisCommand("WAIT", replicasAwaited, max(1, span)).write(to: &output)
    let deadline =
      loop.now + max(configuration.commandDeadline, configuration.replicaDeadline + .seconds(1))
    pending.append(Pending(waiter: .replicas, count: 1, deadline: deadline))
    unflushed += 1
    inFlight += 1
    if deadline < deadlineTimerMoment { armDeadline(at: deadline) }
  }

  func replicasConfirmed(_ value: RESPValue) {
    if case .integer(let count) = value, count >= replicasAwaited {
      for reply in held { reply.resume() }
      held.removeAll(keepingCapacity: true)
    } else if case .error(let refusal) = value {
      failHeld(.unknownOutcome(RedisFailure(.notReplicated, "WAIT: \(refusal)", refusal: refusal)))
    } else {
      failHeld(.unknownOutcome(notReplicated(confirmed: (try? value.intValue()) ?? 0)))
    }
  }

  /// Refusals stand: what was not done needs no replica.
  func failHeld(_ error: RedisError) {
    let failed = held
    held.removeAll(keepingCapacity: true)
    for reply in failed { reply.fail(error) }
  }

  private func notReplicated(confirmed: Int) -> RedisFailure {
    RedisFailure(
      .notReplicated,
      "Redis at \(configuration.address) did it, and \(confirmed) of \(replicasAwaited) replicas "
        + "confirmed it within \(configuration.replicaDeadline.inSeconds) s: a failover could lose "
        + "it. See INFO replication.")
  }
}

extension RedisConnection.HeldReply {
  fileprivate func resume() {
    switch self {
    case .one(let continuation, let reply): continuation.resume(returning: reply)
    case .all(let continuation, let replies): continuation.resume(returning: replies)
    }
  }

  fileprivate func fail(_ error: RedisError) {
    func failed(_ reply: RedisReply) -> RedisReply {
      if case .success = reply { .failure(error) } else { reply }
    }
    switch self {
    case .one(let continuation, let reply): continuation.resume(returning: failed(reply))
    case .all(let continuation, let replies):
      continuation.resume(returning: replies.map(failed))
    }
  }
}
