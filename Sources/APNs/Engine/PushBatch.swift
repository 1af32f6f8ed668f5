import Clocks
import HTTP
import Transport

/// The pushes of one call: which are still to be sent, and what became of the others.
///
/// Results are written where they belong as answers come, so that a push of a batch costs no more
/// than its bytes.
///
/// `@unchecked Sendable` is right because it is touched on the client's loop only, and read when
/// all is over.
final class PushBatch: @unchecked Sendable {
  /// A refusal that concerns the team or the connection, or may be different the next time.
  struct Doubt {
    var number: Int
    var refusal: APNsRefusal
    var connection: Int
  }

  static let late = ExchangeFailure(.deadline, "The batch's deadline passed.")

  private let make: (Int) -> BatchItem
  private let clock: ServiceClock
  private(set) var results: [PushResult]
  /// Numbers still to be sent, the next one last.
  private var waiting: [Int]
  /// Turned away by a connection; offering them to the same one at once would be a circle.
  private var turnedAway: [Int] = []
  /// Not to be sent before it is known what becomes of one.
  private var keptBack: [Int] = []
  /// Set by the first refusal of the credentials, after which nothing more is sent.
  private var stopped: APNsRefusal?
  private(set) var doubts: [Doubt] = []
  private(set) var hasAccepted = false
  /// Why APNs ended a connection, if it was for the credentials.
  private(set) var credentialsRefusal: APNsRefusal?

  /// - Parameters:
  ///   - fault: the rule that a push breaks; such a one is not sent.
  ///   - make: a push's request.
  init(
    count: Int, clock: ServiceClock, fault: (Int) -> APNsFailure?,
    make: @escaping (Int) -> BatchItem
  ) {
    self.make = make
    self.clock = clock
    results = Array(repeating: .notSent(.exchange(Self.late)), count: count)
    waiting = []
    waiting.reserveCapacity(count)
    for number in (0..<count).reversed() {
      if let failure = fault(number) {
        results[number] = .notSent(failure)
      } else {
        waiting.append(number)
      }
    }
  }

  /// How many are still to be sent.
  var left: Int { waiting.count + turnedAway.count }

  func next() -> Int? { waiting.popLast() }

  func request(_ number: Int) -> BatchItem { make(number) }

  /// What a connection turned away is for the next one, if there is to be one.
  func giveBack(_ number: Int) {
    turnedAway.append(number)
    if let stopped { endWaiting(.credentialsRefused(stopped)) }
  }

  /// Leaves one to be sent.
  func keepBackAllButOne() {
    keptBack = Array(waiting.dropLast())
    waiting = waiting.suffix(1)
  }

  func letGo() {
    waiting += keptBack
    keptBack = []
  }

  /// Lets the next connection have what others turned away.
  func offerAgain() {
    if turnedAway.isEmpty { return }
    waiting += turnedAway
    turnedAway = []
  }

  func finish(_ number: Int, _ outcome: ExchangeOutcome, _ connection: Int) {
    switch outcome {
    case .answered(let response) where (200..<300).contains(response.status):
      hasAccepted = true
      results[number] = PushResult(acceptedBy: response)
    case .answered(let response):
      let refusal = APNsRefusal(response, now: clock.wall)
      results[number] = .refused(refusal)
      // The same key would be refused for all the others, and APNs bans those who go on.
      if refusal.concernsAll {
        stopped = refusal
        endWaiting(.credentialsRefused(refusal))
      }
      if !refusal.disposition.isFinal {
        doubts.append(Doubt(number: number, refusal: refusal, connection: connection))
      }
    case .notSent(let failure):
      credentialsRefusal = credentialsRefusal ?? failure.goAway?.credentialsRefusal
      results[number] = .notSent(APNsFailure(failure))
    case .unknown(let failure): results[number] = .unknown(.exchange(failure))
    }
  }

  /// Ends what is still to be sent.
  func finishRest(_ failure: APNsFailure) {
    if case .credentialsRefused(let refusal) = failure { credentialsRefusal = refusal }
    endWaiting(failure)
  }

  private func endWaiting(_ failure: APNsFailure) {
    for number in waiting + turnedAway { results[number] = .notSent(failure) }
    waiting = []
    turnedAway = []
  }

  /// The doubts so far, which are then the caller's.
  func takeDoubts() -> [Doubt] {
    defer { doubts = [] }
    return doubts
  }

  /// Sends these once more.
  func repeatAll(_ numbers: [Int]) { waiting += numbers }
}
