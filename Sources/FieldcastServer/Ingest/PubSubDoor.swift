internal import Clocks
internal import Redis

/// Triggers that other services publish: `PUBLISH fieldcast:notes {"id":…,"trip":…}`.
///
/// Publish/subscribe has no memory, so what is published while Fieldcast is not connected is lost;
/// each such gap is logged and counted. Who cannot live with that adds to the stream instead.
struct PubSubDoor: Sendable {
  static let channel = "fieldcast:notes"

  let door: BackDoor
  let subscriber: RedisSubscriber

  /// Serves until the subscriber is closed or the task cancelled.
  func run() async {
    await subscriber.subscribe(to: [Self.channel])
    await door.serve(next: nextBatch) { _ in }
  }

  private func nextBatch() async -> (BackDoor.Batch, Void)? {
    guard let events = await subscriber.nextBatch() else { return nil }
    var bodies: [[UInt8]] = []
    for event in events {
      switch event {
      case .message(_, let payload): bodies.append(payload)
      case .subscribed: door.log.info("listening for published notes")
      case .gap(let gap):
        door.log.warning(
          "published notes may have been missed",
          ["seconds": "\((gap.until - gap.from).inSeconds)", "reason": gap.reason])
      case .dropped: break  // only of sharded channels
      case .refused(let refusal):
        door.log.error("Redis does not let us subscribe", ["reason": "\(refusal)"])
      }
    }
    return (door.read(bodies), ())
  }
}
