internal import LoadHarness
internal import Synchronization

/// Shows a demo's pictures: drawn over one another on a terminal, a line every few seconds elsewhere.
final class DemoScreen: Sendable {
  private struct State {
    var height = 0
    var lastLineSeconds = -Double.infinity
  }

  private let isQuiet: Bool
  private let view = DemoView(coloured: Terminal.output.style.isColoured)
  private let state = Mutex(State())

  /// - Parameter isQuiet: shows nothing, since only the summary is wanted.
  init(isQuiet: Bool) { self.isQuiet = isQuiet }

  func show(_ snapshot: DemoSnapshot) {
    guard !isQuiet else { return }
    state.withLock { state in
      if Terminal.output.isTerminal {
        let frame = view.frame(snapshot, previousHeight: state.height)
        state.height = frame.height
        Terminal.output.write(frame.text)
      } else if isLineDue(snapshot, state) {
        state.lastLineSeconds = snapshot.elapsedSeconds
        Terminal.output.writeLine(view.progressLine(snapshot))
      }
    }
  }

  /// Leaves the last picture where it is.
  func finish() {
    if !isQuiet, Terminal.output.isTerminal { Terminal.output.write("\n") }
  }

  private func isLineDue(_ snapshot: DemoSnapshot, _ state: State) -> Bool {
    snapshot.elapsedSeconds - state.lastLineSeconds >= 3 * snapshot.speed
  }
}
