/// What came of one command: its reply, or why there is none.
package typealias RedisReply = Result<RESPValue, RedisError>

/// Commands that travel together: one write, one wait, a reply for each.
///
/// They run one after the other, but not as one step: other clients' commands may come between,
/// and one that fails does not stop those behind it. What must be all or nothing is a script.
package struct RedisBatch: Sendable {
  struct Entry {
    /// Where its arguments end in the common buffer; they begin where the one before ended.
    let end: Int
    let count: Int
    let script: RedisScript?
    let isRepeatable: Bool
  }

  /// The arguments of all commands, behind one another, without heads and script names.
  private var body = RESPWriter()
  private var entries: [Entry] = []

  package init() {}

  package init(_ commands: [RedisCommand]) {
    for command in commands { append(command) }
  }

  package var count: Int { entries.count }
  package var isEmpty: Bool { entries.isEmpty }

  package mutating func append(_ command: RedisCommand) {
    body.append(encoded: command.body)
    close(command.count, script: command.script, isRepeatable: command.isRepeatable)
  }

  /// Adds a command without making a ``RedisCommand`` of it first.
  package mutating func append<each Argument: RESPArgument>(
    _ name: StaticString, _ arguments: repeat each Argument, isRepeatable: Bool = false
  ) {
    body.append(name)
    var count = 1
    for argument in repeat each arguments {
      count += argument.argumentCount
      argument.write(to: &body)
    }
    close(count, script: nil, isRepeatable: isRepeatable)
  }

  /// Adds a call of `script` likewise.
  package mutating func append<each Argument: RESPArgument>(
    _ script: RedisScript, keys: [String], arguments: repeat each Argument
  ) {
    body.append(Int64(keys.count))
    for key in keys { body.append(key) }
    var count = 3 + keys.count
    for argument in repeat each arguments {
      count += argument.argumentCount
      argument.write(to: &body)
    }
    close(count, script: script, isRepeatable: script.isSafeToRepeat)
  }

  /// Empties it for the next use and keeps its memory.
  package mutating func removeAll() {
    body.removeAll(keepingAtMost: 1 << 20)
    entries.removeAll(keepingCapacity: true)
  }

  subscript(index: Int) -> Entry { entries[index] }

  /// The scripts whose digest is not known yet, each once.
  var unknownScripts: [RedisScript] {
    var found: [RedisScript] = []
    for case let script? in entries.lazy.map(\.script) where script.digest == nil {
      if !found.contains(where: { $0 === script }) { found.append(script) }
    }
    return found
  }

  func write(to writer: inout RESPWriter) {
    for index in entries.indices { write(index, inFull: false, to: &writer) }
  }

  /// Some of the commands as a batch of their own.
  ///
  /// - Parameters:
  ///   - inFull: sends script calls with their source.
  ///   - asking: puts `ASKING` before each, which has a reply of its own.
  func selection(_ indices: [Int], inFull: Bool, asking: Bool = false) -> RedisBatchSelection {
    RedisBatchSelection(batch: self, indices: indices, inFull: inFull, asking: asking)
  }

  /// A command's arguments as they are sent; of a script call, those behind the script's name.
  func encoded(_ index: Int) -> ArraySlice<UInt8> {
    body.bytes[(index == 0 ? 0 : entries[index - 1].end)..<entries[index].end]
  }

  fileprivate func write(_ index: Int, inFull: Bool, to writer: inout RESPWriter) {
    let entry = entries[index]
    writer.begin(count: entry.count)
    entry.script?.writeName(to: &writer, inFull: inFull)
    writer.append(encoded: encoded(index))
  }

  private mutating func close(_ count: Int, script: RedisScript?, isRepeatable: Bool) {
    entries.append(
      Entry(end: body.count, count: count, script: script, isRepeatable: isRepeatable))
  }
}

/// Commands of a batch that are sent to one of several servers, or once more.
struct RedisBatchSelection {
  let batch: RedisBatch
  let indices: [Int]
  let inFull: Bool
  let asking: Bool

  /// How many replies belong to it.
  var replyCount: Int { asking ? 2 * indices.count : indices.count }

  func write(to writer: inout RESPWriter) {
    for index in indices {
      if asking { RedisCommand("ASKING").write(to: &writer) }
      batch.write(index, inFull: inFull, to: &writer)
    }
  }
}
