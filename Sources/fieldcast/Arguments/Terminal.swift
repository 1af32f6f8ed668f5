internal import Glibc

/// Colour and weight, or none of it: only terminals get escape sequences.
package struct Style: Sendable {
  package let isColoured: Bool

  package init(coloured: Bool) { isColoured = coloured }

  package func bold(_ text: String) -> String { wrap(text, "1") }
  package func heading(_ text: String) -> String { wrap(text, "1;36") }
  package func faint(_ text: String) -> String { wrap(text, "2") }
  package func error(_ text: String) -> String { wrap(text, "1;31") }

  private func wrap(_ text: String, _ code: String) -> String {
    isColoured ? "\u{1B}[\(code)m\(text)\u{1B}[0m" : text
  }
}

/// One of the process' standard streams.
package struct Terminal: Sendable {
  private let descriptor: Int32

  package static let output = Terminal(descriptor: STDOUT_FILENO)
  package static let errors = Terminal(descriptor: STDERR_FILENO)

  package var isTerminal: Bool { isatty(descriptor) == 1 }

  /// Coloured on a terminal that knows colours, unless `NO_COLOR` asks for none.
  package var style: Style {
    let isPlain = getenv("NO_COLOR").map { $0.pointee != 0 } ?? false
    let kind = getenv("TERM").map { String(cString: $0) } ?? ""
    return Style(coloured: isTerminal && !isPlain && kind != "dumb" && kind != "")
  }

  /// Writes all of the text. A reader that has gone away (`| head`) is no fault: the rest is
  /// dropped.
  package func write(_ text: String) {
    var bytes = Array(text.utf8)[...]
    while !bytes.isEmpty {
      let count = bytes.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
      if count < 0, errno == EINTR { continue }
      if count < 0, errno == EAGAIN {
        var ready = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
        _ = poll(&ready, 1, 1_000)
        continue
      }
      guard count > 0 else { return }
      bytes.removeFirst(count)
    }
  }

  package func writeLine(_ text: String) { write(text + "\n") }
}
