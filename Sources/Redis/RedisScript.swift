internal import Synchronization

/// A Lua script that runs on the server as one step.
///
/// It is called by its digest, which the server itself tells us the first time (so that we need
/// none of our own), and sent in full when a server does not know it.
package final class RedisScript: Sendable {
  /// For messages and metrics.
  package let name: String
  package let source: String
  /// Whether running it twice with the same arguments has the effect of running it once. Only then
  /// is it sent again when a connection is lost and nobody knows whether it ran.
  package let isSafeToRepeat: Bool

  private let known = Mutex<String?>(nil)

  package init(name: String, source: String, isSafeToRepeat: Bool = false) {
    self.name = name
    self.source = source
    self.isSafeToRepeat = isSafeToRepeat
  }

  /// What `SCRIPT LOAD` answered, 40 hexadecimal digits; nil before the first time. It depends on
  /// the source only, so it is the same on all servers.
  package var digest: String? { known.withLock { $0 } }

  func remember(digest: String) { known.withLock { $0 = digest } }

  /// Writes the command's name and how the script is called.
  ///
  /// - Parameter inFull: by its source, which makes the server remember it too.
  func writeName(to writer: inout RESPWriter, inFull: Bool) {
    if let digest, !inFull {
      writer.append("EVALSHA" as StaticString)
      writer.append(digest)
    } else {
      writer.append("EVAL" as StaticString)
      writer.append(source)
    }
  }

  /// The command that makes a server remember the script, and that answers its digest.
  var loading: RedisCommand { RedisCommand("SCRIPT", "LOAD", source).repeatable() }
}
