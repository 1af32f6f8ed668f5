/// An error reply of the server.
package struct RedisRefusal: Error, Sendable, Hashable, CustomStringConvertible {
  /// What an error reply asks for, by its first word.
  package enum Kind: Sendable, Hashable {
    /// NOSCRIPT: the server has forgotten a script (restart, failover, `SCRIPT FLUSH`).
    case noScript
    /// READONLY: a write went to a replica.
    case readOnly
    /// LOADING: the server is reading its data from disk.
    case loading
    /// BUSY: a script has been running for too long.
    case busy
    /// OOM: the server's `maxmemory` is reached.
    case outOfMemory
    /// MOVED: another node of the cluster owns the slot now.
    case moved(slot: Int, host: String, port: Int)
    /// ASK: this one command should go to another node, behind `ASKING`.
    case ask(slot: Int, host: String, port: Int)
    /// TRYAGAIN: some of the command's keys have moved, some not yet.
    case tryAgain
    /// UNBLOCKED: the server ended a blocking read, since the stream or the server's part changed.
    case unblocked
    /// CLUSTERDOWN: the cluster lacks a master for some slots.
    case clusterDown
    /// CROSSSLOT: the command's keys lie in different slots.
    case crossSlot
    /// MASTERDOWN: a replica has no link to its master.
    case masterDown
    /// NOREPLICAS: too few replicas are connected for a write.
    case noReplicas
    /// NOAUTH: the server wants a password.
    case noAuth
    /// WRONGPASS: it does not accept ours.
    case wrongPassword
    /// NOPERM: our user may not run this command or touch this key.
    case noPermission
    /// NOGROUP: the stream or its consumer group is not there.
    case noGroup
    /// BUSYGROUP: the consumer group exists already.
    case groupExists
    /// MISCONF: the server stopped taking writes, since it cannot save them.
    case misconfigured
    /// WRONGTYPE: the key holds another type.
    case wrongType
    /// EXECABORT: a command of the transaction was refused before.
    case transactionAborted
    /// Anything else; ``RedisRefusal/code`` has the word.
    case other
  }

  /// Whether the command was not carried out, and may be a little later without anybody's help.
  package var isPassing: Bool {
    switch kind {
    case .loading, .busy, .masterDown, .tryAgain, .clusterDown, .unblocked: true
    default: false
    }
  }

  /// The server's line, code included, without arguments of ours that some servers repeat in it:
  /// they may be passwords.
  package let text: String

  package init(text: String) {
    self.text = Self.withoutEcho(text)
  }

  /// The first word: `ERR`, `NOSCRIPT`, or what a script chose.
  package var code: Substring { text.prefix { $0 != " " } }

  package var kind: Kind {
    switch code {
    case "NOSCRIPT": .noScript
    case "READONLY": .readOnly
    case "LOADING": .loading
    case "BUSY": .busy
    case "OOM": .outOfMemory
    case "MOVED": redirection.map { .moved(slot: $0, host: $1, port: $2) } ?? .other
    case "ASK": redirection.map { .ask(slot: $0, host: $1, port: $2) } ?? .other
    case "TRYAGAIN": .tryAgain
    case "UNBLOCKED": .unblocked
    case "CLUSTERDOWN": .clusterDown
    case "CROSSSLOT": .crossSlot
    case "MASTERDOWN": .masterDown
    case "NOREPLICAS": .noReplicas
    case "NOAUTH": .noAuth
    case "WRONGPASS": .wrongPassword
    case "NOPERM": .noPermission
    case "NOGROUP": .noGroup
    case "BUSYGROUP": .groupExists
    case "MISCONF": .misconfigured
    case "WRONGTYPE": .wrongType
    case "EXECABORT": .transactionAborted
    default: .other
    }
  }

  package var description: String {
    let advice = advice.map { " " + $0 } ?? ""
    return "Redis refused: \(text)\(text.hasSuffix(".") ? "" : ".")\(advice)"
  }

  /// What the operator can do about it; nil where the server's own words say enough.
  private var advice: String? {
    switch kind {
    case .readOnly: "This server is a replica; the URL must name the primary."
    case .moved, .ask:
      "The server is one of a cluster: write redis-cluster:// instead of redis:// in the URL."
    case .noReplicas:
      "Fewer replicas are connected than min-replicas-to-write; see INFO replication."
    case .loading: "It is reading its data from disk; this ends by itself."
    case .busy: "A script blocks the server; SCRIPT KILL ends one that has not written yet."
    case .outOfMemory:
      "Its maxmemory is reached: raise it, or look for what has grown. "
        + "The policy must stay noeviction."
    case .clusterDown: "Some slots have no master; see CLUSTER INFO on any node."
    case .noAuth: "Put the user and password into the Redis URL."
    case .wrongPassword: "Check the user and password in the Redis URL."
    case .noPermission: "The Redis user needs this command and these keys; see ACL SETUSER."
    case .misconfigured: "It cannot write to its disk: see its log and free space."
    default: nil
    }
  }

  /// `MOVED 3999 127.0.0.1:6381`. The host may be an IPv6 address, or empty when the server does
  /// not know it: then it is the host that was asked.
  private var redirection: (slot: Int, host: String, port: Int)? {
    let words = text.split(separator: " ")
    guard words.count >= 3, let slot = Int(words[1]),
      let colon = words[2].lastIndex(of: ":"),
      let port = Int(words[2][words[2].index(after: colon)...])
    else { return nil }
    return (slot, String(words[2][..<colon]), port)
  }

  private static func withoutEcho(_ text: String) -> String {
    let mark = ", with args beginning with:"
    let haystack = text.utf8
    let needle = mark.utf8
    // Error lines are short and rare; no search library is worth importing for them.
    guard haystack.count >= needle.count else { return text }
    var start = haystack.startIndex
    while start != haystack.endIndex {
      if haystack[start...].starts(with: needle) { return String(text[..<start]) }
      haystack.formIndex(after: &start)
    }
    return text
  }
}
