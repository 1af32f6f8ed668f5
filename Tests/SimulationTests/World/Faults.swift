import Clocks

/// How often small things go wrong, each from 0, never, to 1.
struct FaultLevels {
  /// A message to or from Redis is late by up to a second.
  var slowRedis = 0.0
  /// A message to or from APNs is late by seconds.
  var slowAPNs = 0.0
  /// A request to APNs is refused, lost, or done without an answer.
  var apns = 0.0
}

/// What goes wrong in a run at some time, beside the small things.
enum Fault: CaseIterable {
  case kill
  case pause
  case drain
  case join
  case cutRedis
  case stallRedis
  case redisRestarts
  case redisLosesWrites
  case apnsAway
  case channelLost
  case clockStepped
}

/// What is deliberately broken, to see that the simulation finds it.
///
/// Each stands for a mistake that one could make in the service; they are made in the models beside
/// it, which hold what the scripts and the client promise.
enum Mutation: String, CaseIterable {
  /// A commit's script looks at neither epoch nor cursor.
  case commitUnfenced
  /// A commit is not one step: where the connection is lost the cursor has moved and no state.
  case commitTorn
  /// A reservation takes the server's second, used or not.
  case timestampReused
  /// Whoever takes a trip over begins with a full bucket.
  case bucketRefilled
  /// A reservation counts as if APNs had accepted the broadcast.
  case publishedTooEarly
  /// Nobody notes which trips are unpublished.
  case unpublishedForgotten
  /// An append's script takes in what it knows already.
  case duplicatesTaken
  /// An append's script takes in what comes after the end.
  case endForgotten
  /// What is due is removed when it is claimed, not when it is done.
  case dueRemoved
  /// The client sends the same bytes again when it got no answer.
  case bytesResent
  /// Phones show whatever comes last.
  case timestampsIgnored
}
