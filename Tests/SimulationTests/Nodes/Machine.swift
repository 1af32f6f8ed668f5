import Clocks
import Transport

/// A machine: its clocks, and the node that runs on it, if one does.
///
/// `@unchecked Sendable` is right because one thread runs the whole simulation.
final class Machine: SimulatedClocks, @unchecked Sendable {
  let name: String
  let number: Int
  unowned let world: World
  /// How far its wall clock is from the true time.
  var wallOffset = Duration.zero
  /// Stopped as by SIGSTOP until then: nothing of it runs, and what comes for it waits.
  private(set) var pausedUntil: Moment?
  private(set) var process: NodeProcess?
  /// Of nodes that were killed or have stopped: what is left of them ends by itself, unheard.
  private var remains: [NodeProcess] = []

  init(_ number: Int, in world: World) {
    self.number = number
    name = "node\(number)"
    self.world = world
  }

  var monotonic: Moment { world.now }
  var wall: UnixTime { world.wall + wallOffset }

  var isPaused: Bool { pausedUntil != nil }

  /// The node, if one runs here and takes requests.
  var serving: NodeProcess? { process.flatMap { $0.isDraining ? nil : $0 } }

  // MARK: Turns

  var nextTurn: Moment? {
    var next: Moment?
    if let pausedUntil {
      next = pausedUntil
    } else if let turn = process?.loop.nextTurn {
      next = turn
    }
    for remain in remains {
      if let turn = remain.loop.nextTurn { next = min(next ?? turn, turn) }
    }
    return next
  }

  func takeTurn(at now: Moment) {
    if let until = pausedUntil, until <= now {
      pausedUntil = nil
      world.trace.note(world, name, mark: 1, "goes on")
    }
    if let process, pausedUntil == nil {
      if let turn = process.loop.nextTurn, turn <= now { process.loop.takeTurn(at: now) }
      if process.hasEnded { bury() }
    }
    for remain in remains {
      if let turn = remain.loop.nextTurn, turn <= now { remain.loop.takeTurn(at: now) }
    }
    remains.removeAll { remain in
      if remain.hasEnded { remain.loop.stop() }
      return remain.hasEnded
    }
  }

  // MARK: What happens to it

  func start(_ make: (Machine) -> NodeProcess) {
    guard process == nil else { return }
    world.trace.note(world, name, mark: 2, "starts")
    let process = make(self)
    self.process = process
    process.start()
  }

  /// The process is gone, with all that it knew.
  func kill() {
    guard let process else { return }
    world.trace.note(world, name, mark: 3, "is killed")
    pausedUntil = nil
    process.kill()
    bury()
  }

  /// SIGTERM.
  func drain() {
    guard let process, !process.isDraining else { return }
    world.trace.note(world, name, mark: 4, "is told to stop")
    process.drain()
  }

  func pause(until moment: Moment) {
    guard process != nil else { return }
    world.trace.note(world, name, mark: 5, "is paused")
    pausedUntil = max(moment, pausedUntil ?? moment)
  }

  private func bury() {
    guard let process else { return }
    self.process = nil
    remains.append(process)
  }
}
