/// Commands on their way to the nodes of a cluster: which are still to be sent, and where.
struct ClusterDelivery: Sendable {
  /// Where a command is to be sent next.
  enum Target: Sendable, Hashable {
    /// The master of its slot, as the map says then.
    case master
    /// Where the cluster said that the slot has moved, of which the map does not know yet.
    case node(RedisAddress)
    /// Where the slot is moving to.
    case asking(RedisAddress)
  }

  struct Plan: Sendable, Hashable {
    var target = Target.master
    var isInFull = false
  }

  let batch: RedisBatch
  /// Each command's slot; nil for one without a key.
  let slots: [Int?]
  /// The commands that have no final outcome yet, in order.
  private(set) var open: [Int]
  private(set) var plans: [Plan]
  /// What the next round needs first.
  private(set) var mustPause = false
  private(set) var mustLook = false
  /// Who is likely to know the newest map.
  private(set) var hint: RedisAddress?
  private(set) var moves: [(slot: Int, to: RedisAddress)] = []
  private var replies: [RedisReply?]
  /// How often a command was sent on by what a node said.
  private var redirections = 0

  /// Redirections that are followed without a pause: more are a cluster that does not agree.
  private static let quickRedirections = 4

  init(_ batch: RedisBatch) {
    self.batch = batch
    slots = (0..<batch.count).map(batch.slot(of:))
    open = Array(0..<batch.count)
    plans = Array(repeating: Plan(), count: batch.count)
    replies = Array(repeating: nil, count: batch.count)
  }

  /// The outcomes; of what is still open, why it was not carried out.
  var outcomes: [RedisReply] {
    replies.map { reply in
      reply
        ?? .failure(.notSent(RedisFailure(.deadline, "There was no time left to send a command.")))
    }
  }

  mutating func beginRound() {
    (mustPause, mustLook, hint, moves) = (false, false, nil, [])
  }

  /// Takes the replies to some commands.
  ///
  /// - Parameter host: of the node that they were sent to.
  mutating func take(_ answers: [RedisReply], to indices: [Int], from host: String) {
    var settled: Set<Int> = []
    for (index, answer) in zip(indices, answers) where !take(answer, to: index, from: host) {
      settled.insert(index)
    }
    open.removeAll(where: settled.contains)
  }

  /// - Returns: whether the command is to be sent once more.
  private mutating func take(_ answer: RedisReply, to index: Int, from host: String) -> Bool {
    replies[index] = answer
    guard case .failure(let error) = answer else { return false }
    let remedy = ClusterRemedy(
      for: error, isRepeatable: batch[index].isRepeatable, askedAt: host)
    switch remedy {
    case .none: return false
    case .sendInFull:
      // A node that forgets a script between two commands of ours would be asked for ever.
      if plans[index].isInFull { mustPause = true }
      plans[index].isInFull = true
    case .follow(let address, let slot):
      noteRedirection()
      plans[index].target = .node(address)
      moves.append((slot, address))
      hint = address
    case .ask(let address):
      noteRedirection()
      plans[index].target = .asking(address)
    case .wait:
      // The slot may have arrived, or have stayed: its master knows.
      plans[index].target = .master
      mustPause = true
    case .lookAgain:
      plans[index].target = .master
      mustPause = true
      mustLook = true
    }
    return true
  }

  private mutating func noteRedirection() {
    redirections += 1
    if redirections > Self.quickRedirections { mustPause = true }
  }
}
