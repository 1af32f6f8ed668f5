import Clocks
import FieldTrips
import FieldcastServer
import TripStore

/// Who creates trips and sends triggers: by whatever node is there, and again until it is taken in.
final class Callers {
  private unowned let world: World
  private let rules: Rules
  private let app: AppID
  private let type: ActivityType
  /// Whether a trip that was there may be gone before its time.
  private let hasClockSteps: Bool
  /// Sent, and neither taken in nor refused.
  private(set) var open = 0
  /// What nodes said they took in.
  private(set) var acknowledged: [(trip: TripID, id: String)] = []
  private(set) var created: Set<TripID> = []

  init(in world: World, rules: Rules, settings: NodeSettings, hasClockSteps: Bool) {
    self.world = world
    self.rules = rules
    self.hasClockSteps = hasClockSteps
    app = settings.app
    type = settings.type
  }

  // MARK: Trips

  func create(_ plan: Scenario.Plan) {
    var life = TripLife(times: plan.times)
    let actions = life.created(at: plan.times.createdAt)
    let trip = NewTrip(
      id: plan.trip,
      definition: TripDefinition(
        app: app, typeName: type.name, name: "Meadow", notebook: "Birds",
        attributes: Self.attributes, storagePolicy: type.storage),
      contentState: Self.firstState, mapperMemory: MapperMemory().written(), life: life,
      actions: actions)
    open += 1
    create(trip)
  }

  static let attributes = Bytes(#"{"name":"Meadow","notebook":"Birds","tripID":"t"}"#.utf8)
  static let firstState = Bytes(#"{"notesCaptured":0}"#.utf8)

  private func create(_ trip: NewTrip) {
    ask { node, answer in
      node.create(trip, answer)
    } done: { [self] in
      created.insert(trip.id)
    } again: { [self] in
      create(trip)
    }
  }

  // MARK: Triggers

  func send(_ trigger: Trigger) {
    open += 1
    trySending(trigger)
  }

  private func trySending(_ trigger: Trigger) {
    ask { [self] node, answer in
      node.take([trigger]) { [self] outcomes in
        guard case .success(let outcome)? = outcomes.first else { return answer(false) }
        switch outcome {
        case .accepted, .duplicate:
          acknowledged.append((trigger.trip, trigger.id.text))
          answer(true)
        case .ended: answer(true)
        // A Redis that lost its last seconds may have lost a trip that was there, and a node whose
        // clock is ahead forgets one as early.
        case .unknownTrip:
          answer((rules.hasLostWrites || hasClockSteps) && created.contains(trigger.trip))
        case .logFull, .revisionMismatch: answer(false)
        }
      }
    } done: {
    } again: { [self] in
      trySending(trigger)
    }
  }

  /// Asks some node, and again later if it does not say yes.
  private func ask(
    _ question: (NodeProcess, @escaping (Bool) -> Void) -> Void, done: @escaping () -> Void,
    again: @escaping () -> Void
  ) {
    var isAnswered = false
    let answer: (Bool) -> Void = { [self] isDone in
      if isAnswered { return }
      isAnswered = true
      if isDone {
        open -= 1
        done()
      } else {
        world.after(world.span(.milliseconds(200), .seconds(2)), again)
      }
    }
    guard let node = world.one(of: world.machines.compactMap(\.serving)) else {
      return answer(false)
    }
    question(node, answer)
    world.after(.seconds(7)) { answer(false) }
  }
}
