internal import LoadHarness
internal import Synchronization

/// Shows a load's progress on the standard error: drawn in place on a terminal, a line a second
/// elsewhere.
final class LoadScreen: Sendable {
  private let isQuiet: Bool
  private let view = LoadProgressView(coloured: Terminal.errors.style.isColoured)
  private let state = Mutex((height: 0, last: ""))

  /// - Parameter isQuiet: shows nothing.
  init(isQuiet: Bool) { self.isQuiet = isQuiet }

  func show(_ snapshot: LoadSnapshot) {
    guard !isQuiet else { return }
    state.withLock { state in
      if Terminal.errors.isTerminal {
        let frame = view.frame(snapshot, previousHeight: state.height)
        state.height = frame.height
        Terminal.errors.write(frame.text)
      } else {
        let line = view.line(snapshot)
        // While it is set up, the same may be true for a while.
        if line != state.last { Terminal.errors.writeLine(line) }
        state.last = line
      }
    }
  }
}
