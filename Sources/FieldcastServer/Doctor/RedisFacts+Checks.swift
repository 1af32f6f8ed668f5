internal import Clocks
internal import Transport

extension RedisFacts {
  /// What is right and wrong with the server.
  package var findings: [Finding] {
    [version, role, policy] + persistence
      + [memory, evictions, scripts, rights, buffers, latency, clock]
      .compactMap(\.self)
  }

  private func unseen(_ code: String, _ setting: String) -> Finding {
    finding(
      .unknown, code, "\(setting) cannot be read.",
      why: "CONFIG GET is not allowed to this user, or not offered by this server.",
      mend: "Look at the server's settings, or allow it: ACL SETUSER <user> +config|get")
  }

  private func set(_ name: String, _ value: String) -> String {
    "CONFIG SET \(name) \(value.isEmpty ? "\"\"" : value), then CONFIG REWRITE; for good: "
      + "\(name) \(value.isEmpty ? "\"\"" : value) in redis.conf"
  }

  // MARK: The server

  private var version: Finding {
    guard let text = info["redis_version"] else {
      return finding(
        .unknown, "version", "The version cannot be read.",
        why: "INFO is not allowed to this user.", mend: "ACL SETUSER <user> +info")
    }
    let name = info["valkey_version"].map { "Valkey \($0)" } ?? "Redis \(text)"
    guard let major = text.split(separator: ".").first.flatMap({ Int($0) }), major < 7 else {
      return finding(.good, "version", "\(name) is new enough.")
    }
    return finding(
      .wrong, "version", "\(name) is too old.",
      why: "The service's scripts say by flags what they may do beyond the memory limit, which "
        + "versions before 7.0 do not understand: it does not start.",
      mend: "Install Redis 7.0 or newer, or Valkey 7.2 or newer.")
  }

  private var role: Finding {
    let primary = info["master_host"].map { " of \($0):\(info["master_port"] ?? "")" } ?? ""
    switch info["role"] {
    case "master": return finding(.good, "role", "It is a primary, and takes writes.")
    case "slave":
      return finding(
        .wrong, "role", "It is a replica\(primary).",
        why: "A replica takes no writes: nothing can be taken in or published.",
        mend:
          "Name the primary in FIELDCAST_REDIS_URL (--redis), or REPLICAOF NO ONE if this is to "
          + "be it.")
    default: return finding(.unknown, "role", "It does not say whether it is a primary.")
    }
  }

  private var policy: Finding {
    let (code, why) = (
      "maxmemory-policy",
      "At its memory limit it would throw away trips, logs and leases, whatever it finds. With "
        + "noeviction new work is refused instead, until there is room."
    )
    guard let policy = setting(code) else { return unseen(code, code) }
    return policy == "noeviction"
      ? finding(.good, code, "\(code) is noeviction.")
      : finding(.wrong, code, "\(code) is \(policy).", why: why, mend: set(code, "noeviction"))
  }

  // MARK: What it keeps on disk

  private var persistence: [Finding] {
    guard let appends = setting("appendonly") else { return [unseen("persistence", "appendonly")] }
    let save = settings?["save"]
    if appends == "yes" { return [syncing, writing].compactMap(\.self) }
    let mend = set("appendonly", "yes")
    if let save, save.isEmpty {
      return [
        finding(
          .wrong, "persistence", "It keeps nothing on disk: neither appendonly nor save is set.",
          why: "When it restarts, all trips and what was taken in are lost, and their channels "
            + "stay at APNs.", mend: mend)
      ]
    }
    return [
      finding(
        .advice, "persistence",
        save.map { "It keeps snapshots alone (save \($0))." } ?? "It keeps no append-only file.",
        why: "When it crashes, what was taken in since the last snapshot is lost, though callers "
          + "were told that it was kept.", mend: mend), writing,
    ].compactMap(\.self)
  }

  private var syncing: Finding {
    guard let when = settings?["appendfsync"] else { return unseen("appendfsync", "appendfsync") }
    switch when {
    case "no":
      return finding(
        .wrong, "appendfsync", "appendfsync is no.",
        why: "The system writes to disk when it likes, often after 30 s: a crash of the machine "
          + "loses as much of what callers were told was kept.",
        mend: set("appendfsync", "everysec"))
    case "always":
      return finding(
        .advice, "appendfsync", "appendfsync is always.",
        why: "Nothing is lost, and each commit waits for the disk.",
        mend: set("appendfsync", "everysec"))
    default: return finding(.good, "appendfsync", "It appends to a file, synced each second.")
    }
  }

  private var writing: Finding? {
    for (field, what) in [
      ("aof_last_write_status", "The last write to the append-only file"),
      ("rdb_last_bgsave_status", "The last snapshot"),
    ] where info[field].map({ $0 != "ok" }) ?? false {
      return finding(
        .wrong, "disk", "\(what) failed.",
        why: "What is taken in is not kept, and the server may refuse all writes.",
        mend: "See its log, and the free space and rights of the folder that CONFIG GET dir names.")
    }
    return nil
  }

  // MARK: Memory

  private var memory: Finding? {
    guard let used = number("used_memory") else { return nil }
    guard let limit = setting("maxmemory").flatMap({ Int64($0) }), limit > 0 else {
      return finding(
        .advice, "maxmemory", "It uses \(Self.bytes(used)), and maxmemory is not set.",
        why: "If memory runs out the system ends it, with all that it holds. With a limit the "
          + "service refuses new work in time.",
        mend: set("maxmemory", "<bytes>"))
    }
    let share = Int(used * 100 / limit)
    let what = "It uses \(share) % of its memory: \(Self.bytes(used)) of \(Self.bytes(limit))."
    guard share >= 80 else { return finding(.good, "maxmemory", what) }
    return finding(
      share >= 95 ? .wrong : .advice, "maxmemory", what,
      why: "At the limit new trips and notes are refused with 503.",
      mend: set("maxmemory", "<more bytes>") + "; redis-cli --bigkeys shows what has grown")
  }

  private var evictions: Finding? {
    guard let count = number("evicted_keys"), count > 0 else { return nil }
    return finding(
      .wrong, "evictions", "It has thrown away \(count) keys since it started.",
      why: "Some of them may have been trips or logs of this service.",
      mend:
        "Mend maxmemory-policy, then fieldcast channels reconcile for channels that nobody knows.")
  }

  // MARK: What the service may do

  private var scripts: Finding {
    guard let scriptProblem else {
      return finding(.good, "scripts", "It runs the service's scripts.")
    }
    return finding(
      .wrong, "scripts", "A script of the service does not run: \(scriptProblem)",
      why: "Everything that the service writes is written by scripts.",
      mend:
        "Redis' words say what it wants; for a user of its own: ACL SETUSER <user> on >password "
        + "~fc:* ~fieldcast:* &fc:* &fieldcast:* +@all -@dangerous +info +config|get")
  }

  private var rights: Finding? {
    guard scriptProblem == nil else { return nil }
    guard let deniedCommands else {
      return finding(
        .unknown, "rights", "Whether the user may run all commands of the service cannot be asked.")
    }
    guard !deniedCommands.isEmpty else {
      return finding(.good, "rights", "The user may run every command of the service.")
    }
    let rules = deniedCommands.map { "+" + ($0.split(separator: " ").first ?? "").lowercased() }
    return finding(
      .wrong, "rights", "The user may not run \(deniedCommands.joined(separator: ", ")).",
      why: "What needs them fails: notes wait, or are not taken in.",
      mend: "ACL SETUSER <user> ~fc:* ~fieldcast:* &fc:* &fieldcast:* "
        + rules.joined(separator: " "))
  }

  private var buffers: Finding? {
    let code = "client-output-buffer-limit"
    guard let text = settings?[code] else { return unseen(code, code) }
    let words = text.split(separator: " ")
    guard let place = words.firstIndex(of: "pubsub"), words.count >= place + 4,
      let hard = Int64(words[place + 1]), let soft = Int64(words[place + 2])
    else { return unseen(code, code) }
    // A burst of notes that one slow moment of a node holds up.
    let (leastHard, leastSoft): (Int64, Int64) = (32 << 20, 8 << 20)
    guard hard != 0 && hard < leastHard || soft != 0 && soft < leastSoft else {
      return finding(.good, code, "A subscriber may be behind by \(Self.bytes(hard)) (0: any).")
    }
    return finding(
      .advice, code,
      "A subscriber is cut off when it is \(Self.bytes(hard == 0 ? soft : hard)) behind.",
      why: "Notes that come by PUBLISH while it is away are lost: nobody keeps them.",
      mend: "CONFIG SET \(code) \"pubsub \(leastHard) \(leastSoft) 60\", and the same in redis.conf"
    )
  }

  private var latency: Finding? {
    guard let roundTrip else { return nil }
    let what = "A round trip takes \(roundTrip.inMilliseconds) ms."
    guard roundTrip >= .milliseconds(10) else { return finding(.good, "latency", what) }
    return finding(
      roundTrip >= .milliseconds(250) ? .wrong : .advice, "latency", what,
      why: "Each commit and each broadcast waits for some of them; leases are renewed by them too.",
      mend: "Run the service near its Redis; see redis-cli --latency and SLOWLOG GET.")
  }

  private var clock: Finding? {
    clockLead.map {
      ClockLead(of: subject, than: "Redis'", by: $0, good: .seconds(1), wrong: .seconds(30))
        .finding(
          why: "Nodes whose clocks differ give a trip's broadcasts timestamps that jump when it "
            + "changes its node; phones ignore those that are behind.")
    }
  }

  private static func bytes(_ count: Int64) -> String {
    count < 10_000_000
      ? "\((count + 500) / 1_000) kB" : "\((count + 500_000) / 1_000_000) MB"
  }
}

extension Duration {
  /// `0.4`, `12`.
  fileprivate var inMilliseconds: String {
    let tenths = wholeNanoseconds / 100_000
    return tenths < 100 ? "\(tenths / 10).\(tenths % 10)" : "\(tenths / 10)"
  }
}
