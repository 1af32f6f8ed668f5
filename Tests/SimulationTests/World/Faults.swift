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
  /// A commit's script writes a life over another node's step.
  case lifeNotCompared
  /// A reservation's script does not look at the epoch.
  case reserveUnfenced
  /// A reservation takes the clock's second, used or not.
  case timestampReused
  /// A reservation does not look at the trip's phase.
  case updatesAfterEnd
  /// A reservation does not keep the token bucket.
  case budgetForgotten
  /// Nobody notes which trips are unpublished.
  case unpublishedForgotten
  /// A node that takes over gets the epoch of the one before.
  case epochKept
  /// An append's script takes in what it knows already.
  case duplicatesTaken
  /// A commit is not one step: a connection that is lost leaves the cursor and no states.
  case commitTorn
  /// The client sends the same bytes again when it got no answer.
  case bytesResent
}
