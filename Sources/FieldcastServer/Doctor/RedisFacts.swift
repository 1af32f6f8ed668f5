/// What a Redis server says of itself, and how it answers.
package struct RedisFacts: Facts {
  /// What findings about it are under: `redis`, with its address where there are several.
  package var subject = "redis"
  /// `key:value` lines of `INFO`.
  package var info: [String: String] = [:]
  /// What `CONFIG GET` says; nil where it is not allowed, as with most hosted servers.
  package var settings: [String: String]?
  /// Why a script of the service could not run.
  package var scriptProblem: String?
  /// Commands of the service that its user may not run, with the keys and channels it uses them on;
  /// nil when that could not be asked.
  package var deniedCommands: [String]?
  /// Of several round trips, the one in the middle.
  package var roundTrip: Duration?
  /// How far this machine's clock is ahead of the server's.
  package var clockLead: Duration?

  package init() {}

  /// A setting: by `CONFIG GET`, or as far as `INFO` has it.
  func setting(_ name: String) -> String? {
    if let value = settings?[name] { return value }
    switch name {
    case "maxmemory-policy": return info["maxmemory_policy"]
    case "maxmemory": return info["maxmemory"]
    case "appendonly": return info["aof_enabled"].map { $0 == "1" ? "yes" : "no" }
    default: return nil
    }
  }

  func number(_ name: String) -> Int64? { info[name].flatMap { Int64($0) } }
}
