internal import APNs
internal import Clocks
internal import Crypto
internal import FieldTrips
internal import FieldcastServer
import Foundation
internal import HTTP
internal import JSON
internal import Transport

/// The settings of a node, as options, environment variables and members of a file.
enum ServiceOptions {
  static let listen = Option<String>.text(
    "listen", "HOST:PORT", default: "127.0.0.1:8080", environment: "FIELDCAST_LISTEN",
    help: "Where REST is served. Port 0 lets the system choose; the log says which.")
  static let redis = Option<String?>.text(
    "redis", "URL", environment: "FIELDCAST_REDIS_URL",
    help: """
      redis://[user:password@]host:port/db, or unix:///path; a primary that Sentinels name, \
      redis-sentinel://host:port,host:port/name; or a cluster, redis-cluster://host:port,host:port. \
      rediss in place of redis is TLS. Without it a private redis-server is started in the data \
      folder.
      """)
  static let redisReplicas = Option<Int>.integer(
    "redis-replicas", in: 0...10, unit: "replicas", default: 0,
    environment: "FIELDCAST_REDIS_REPLICAS",
    help: """
      Replicas that must have what was taken in before it is answered, so that a failover of \
      Redis does not lose it. While fewer confirm, requests get 503.
      """)
  static let redisTrust = Option<String?>.text(
    "redis-trust", "FILE", environment: "FIELDCAST_REDIS_TRUST",
    help: "PEM file of authorities to trust for Redis' TLS, beside the machine's own.")
  static let data = Option<String>.text(
    "data", "FOLDER", default: "fieldcast-data", environment: "FIELDCAST_DATA",
    help: "Where the private redis-server keeps its data.")
  static let bundleID = Option<String?>.text(
    "bundle-id", "ID", environment: "FIELDCAST_BUNDLE_ID", help: "The app, by its bundle ID.")
  static let environment = Option<String>.choice(
    "environment", among: ["development", "production"], default: "development",
    environment: "FIELDCAST_APNS_ENVIRONMENT",
    help: "development for builds from Xcode, production for TestFlight and the App Store.")
  static let teamID = Option<String?>.text(
    "team-id", "ID", environment: "FIELDCAST_APNS_TEAM_ID", help: "10 characters, from Apple.")
  static let keyID = Option<String?>.text(
    "key-id", "ID", environment: "FIELDCAST_APNS_KEY_ID",
    help: "Of the provider key: 10 characters.")
  static let keyFile = Option<String?>.text(
    "key-file", "FILE", environment: "FIELDCAST_APNS_KEY_FILE",
    help: "The provider key, a .p8 file from Apple's developer portal.")
  static let push = Option<String?>.text(
    "apns-push", "HOST:PORT", environment: "FIELDCAST_APNS_PUSH",
    help: "Another server for broadcasts than Apple's, such as the simulator.")
  static let management = Option<String?>.text(
    "apns-management", "HOST:PORT", environment: "FIELDCAST_APNS_MANAGEMENT",
    help: "Another server for channel management than Apple's.")
  static let trust = Option<String?>.text(
    "apns-trust", "FILE", environment: "FIELDCAST_APNS_TRUST",
    help: "PEM file of the authority that those servers' certificates come from.")
  static let proxy = Option<String?>.text(
    "apns-proxy", "URL", environment: "FIELDCAST_APNS_PROXY",
    help: """
      A proxy that opens tunnels (CONNECT) to APNs' ports 443 and 2195 or 2196, such as \
      http://proxy.example:3128. A user and password before the host, user:password@, belong in \
      the environment rather than on the command line.
      """)
  static let tokens = Option<String?>.text(
    "tokens", "FILE", environment: "FIELDCAST_TOKENS",
    help: """
      Who may call REST: a line each with name, scopes and the token's hash, as `fieldcast token` \
      makes them. Without it, whoever reaches the address may.
      """)
  static let contentHosts = Option<String?>.text(
    "content-hosts", "FILE", environment: "FIELDCAST_CONTENT_HOSTS",
    help: """
      JSON that names the hosts from which notifications' content may be fetched, with tokens for \
      them. Without it, from none.
      """)
  static let node = Option<String?>.text(
    "node", "NAME", environment: "FIELDCAST_NODE",
    help: "Unique among running nodes, the same after a restart. Without it, the machine's name.")
  static let activityTypes = Option<String?>.text(
    "activity-types", "FILE", environment: "FIELDCAST_ACTIVITY_TYPES",
    help: """
      The kinds of cards, as JSON; `fieldcast types show` writes such a file. Without it, the \
      built-in ones.
      """)
  static let acceptTypeChanges = Option<Bool>.flag(
    "accept-type-changes", environment: "FIELDCAST_ACCEPT_TYPE_CHANGES",
    help: """
      Starts although an activity type has changed in a way that trips may not survive that run \
      with it.
      """)
  static let policy = Option<String?>.text(
    "policy", "LIST", environment: "FIELDCAST_POLICY",
    help: """
      How channels are published, as standard,overdraft=2; `fieldcast policy` lists every setting. \
      Without it, the default profile.
      """)
  static let budget = Option<Double>.number(
    "budget", in: 1...3_600, unit: "broadcasts an hour", default: 60,
    environment: "FIELDCAST_BUDGET_PER_HOUR",
    help: "Priority-10 broadcasts that a channel may make in an hour; wins over --policy.")
  static let burst = Option<Int?>.integer(
    "burst", in: 2...600, unit: "broadcasts", environment: "FIELDCAST_BURST",
    help: """
      How many of them may come at once after a quiet time; wins over --policy. Without either, a \
      sixth of the budget.
      """)
  static let appRate = Option<Double>.number(
    "app-rate", in: 1...10_000, unit: "requests a second", default: 100,
    environment: "FIELDCAST_APP_RATE",
    help: """
      How many broadcasts all channels of the app may make together at first; wins over --policy. \
      APNs publishes no limit: the rate falls with its 429s, and rises slowly without.
      """)
  static let channelGrace = Option<Double>.number(
    "channel-grace", in: 0...86_400, unit: "s", default: 900,
    environment: "FIELDCAST_CHANNEL_GRACE",
    help: "How long a channel outlives the last card on it before it is deleted.")
  static let warmChannels = Option<Int>.integer(
    "warm-channels", in: 0...1_000, unit: "", default: 4,
    environment: "FIELDCAST_WARM_CHANNELS",
    help: """
      How many channels are made ahead for each storage policy in use, so that a new trip need not \
      wait for APNs. 0 makes none.
      """)
  static let channelQuota = Option<Int>.integer(
    "channel-quota", in: 1...10_000, unit: "channels", default: 10_000,
    environment: "FIELDCAST_CHANNEL_QUOTA",
    help: """
      How many channels the app may have here; APNs' own limit is 10,000. Beyond it new trips are \
      reached by token; from four fifths on there is a warning and none is made ahead.
      """)
  static let reconcile = Option<Double>.number(
    "reconcile", in: 0...1_440, unit: "min", default: 10, environment: "FIELDCAST_RECONCILE",
    help: """
      How often APNs' list of channels is compared with the service's; 0 leaves it to \
      `fieldcast channels reconcile`.
      """)
  static let lease = Option<Double>.number(
    "lease", in: 1...60, unit: "s", default: 5, environment: "FIELDCAST_LEASE",
    help: "How long a killed node's trips wait for another node.")
  static let grace = Option<Double>.number(
    "grace", in: 0.1...300, unit: "s", default: 10, environment: "FIELDCAST_GRACE",
    help: "How long a stop may take before what is under way is cut off.")
  static let clock = Option<String?>.text(
    "clock", "SPEED,START,AT", environment: "FIELDCAST_CLOCK",
    help: """
      For demos and tests: time runs SPEED times faster, and read START when the machine's clock \
      read AT, both in Unix seconds. The simulator must be given the same.
      """)

  static let all: [OptionSpec] =
    [
      listen.spec, redis.spec, redisTrust.spec, redisReplicas.spec, data.spec, bundleID.spec,
      environment.spec, teamID.spec, keyID.spec, keyFile.spec, push.spec, management.spec,
      trust.spec, proxy.spec, tokens.spec, contentHosts.spec, node.spec, activityTypes.spec,
      acceptTypeChanges.spec, policy.spec, budget.spec, burst.spec, appRate.spec, channelGrace.spec,
      warmChannels.spec, channelQuota.spec, reconcile.spec, lease.spec, grace.spec, collector.spec,
      clock.spec,
    ] + door

  // MARK: Reading

  static func configuration(
    from arguments: ParsedArguments
  ) throws(CommandFailure) -> ServiceConfiguration {
    var configuration = ServiceConfiguration(
      store: store(from: arguments), apps: [try app(from: arguments)],
      activityTypes: try ActivityTypes.read(from: arguments),
      node: arguments[node] ?? ProcessInfo.processInfo.hostName)
    configuration.listen = try endpoint(arguments[listen], of: listen.spec)
    try readDoor(from: arguments, into: &configuration)
    if let path = arguments[contentHosts] {
      configuration.contentHosts = try contentHosts(from: path)
    }
    configuration.redisReplicas = arguments[redisReplicas]
    configuration.acceptsTypeChanges = arguments[acceptTypeChanges]
    let publishing = try publishing(from: arguments)
    configuration.policy = publishing.policy
    configuration.appRate = publishing.appRate
    configuration.rules.channelGrace = arguments.duration(of: channelGrace)
    configuration.channels.warm = arguments[warmChannels]
    configuration.channels.quota = ChannelQuota(limit: arguments[channelQuota])
    let minutes = arguments[reconcile]
    configuration.channels.reconcileEvery =
      minutes > 0 ? .nanoseconds(Int64(minutes * 60e9)) : nil
    configuration.leaseLife = arguments.duration(of: lease)
    configuration.grace = arguments.duration(of: grace)
    configuration.collector = try traceCollector(from: arguments)
    configuration.clock = try clock(from: arguments)
    return configuration
  }

  /// Where Redis is; needs no other setting to be right.
  static func store(from arguments: ParsedArguments) -> ServiceConfiguration.Store {
    arguments[redis].map { .url($0, trustFile: arguments[redisTrust]) }
      ?? .own(folder: arguments[data])
  }

  static func access(from path: String) throws(CommandFailure) -> AccessList {
    guard let text = try? String(contentsOfFile: path, encoding: .utf8) else {
      throw CommandFailure(
        .noInput, "The list of tokens \(path) cannot be read. fieldcast token makes its lines.")
    }
    do throws(AccessListError) { return try AccessList(parsing: text) } catch {
      throw CommandFailure(.configuration, "The list of tokens \(path) cannot be used: \(error).")
    }
  }

  private static func contentHosts(from path: String) throws(CommandFailure) -> ContentHosts {
    guard let bytes = FileManager.default.contents(atPath: path) else {
      throw CommandFailure(.noInput, "The content hosts' file \(path) cannot be read.")
    }
    do {
      return try ContentHosts.read(try JSONValue.parse([UInt8](bytes)))
    } catch {
      throw CommandFailure(
        .configuration,
        "The content hosts' file \(path) cannot be used: \(error). Expected "
          + "{\"hosts\": [{\"host\": \"notes.example.com\", \"tokens\": [\"…\"]}]}.")
    }
  }

  static func publishing(
    from arguments: ParsedArguments
  ) throws(CommandFailure) -> PublishingSettings {
    var settings = try PolicyCommand.settings(from: arguments[policy] ?? "")
    if arguments.isGiven(budget) { settings.policy.budgetPerHour = arguments[budget] }
    if let burst = arguments[burst] { settings.policy.burst = burst }
    if arguments.isGiven(appRate) {
      settings.appRate.start = arguments[appRate]
      settings.appRate.ceiling = max(settings.appRate.ceiling, arguments[appRate])
    }
    return settings
  }

  private static func app(
    from arguments: ParsedArguments
  ) throws(CommandFailure) -> AppConfiguration {
    let bundleID = try required(arguments[bundleID], bundleID.spec)
    let teamID = try required(arguments[teamID], teamID.spec)
    let keyID = try required(arguments[keyID], keyID.spec)
    let keyFile = try required(arguments[keyFile], keyFile.spec)
    let environment: AppID.Environment =
      arguments[environment] == "production" ? .production : .development
    guard let pem = FileManager.default.contents(atPath: keyFile) else {
      throw CommandFailure(
        .noInput,
        "The provider key \(keyFile) cannot be read. Set --key-file or "
          + "FIELDCAST_APNS_KEY_FILE to the .p8 file that Apple gave.")
    }
    do {
      let key = try ProviderKey(
        teamID: teamID, keyID: keyID, key: try P256PrivateKey(pem: [UInt8](pem)))
      return AppConfiguration(
        bundleID: bundleID, environment: environment, key: key,
        hosts: try hosts(from: arguments, environment))
    } catch let failure as CommandFailure {
      throw failure
    } catch {
      throw CommandFailure(.configuration, "The provider key \(keyFile) cannot be used: \(error)")
    }
  }

  private static func required(
    _ value: String?, _ spec: OptionSpec
  ) throws(CommandFailure) -> String {
    guard let value else {
      throw CommandFailure(
        .configuration,
        "\(spec.environment ?? spec.name) is not set (--\(spec.name)). \(spec.help) Without "
          + "credentials nothing can be published; `fieldcast demo` shows the service with a "
          + "simulated APNs.")
    }
    return value
  }

  private static func hosts(
    from arguments: ParsedArguments, _ environment: AppID.Environment
  ) throws(CommandFailure) -> APNsHosts {
    var hosts = APNsHosts.apple(
      environment == .production ? .production : .development,
      trust: arguments[trust].map { .systemAnd(file: $0) } ?? .system)
    do throws(HTTPProxyAddressError) {
      hosts.proxy = try arguments[proxy].map { url throws(HTTPProxyAddressError) in
        try HTTPProxy(url: url)
      }
    } catch {
      throw CommandFailure(.configuration, "--apns-proxy (FIELDCAST_APNS_PROXY): \(error).")
    }
    if let text = arguments[push] {
      hosts.push = try host(text, of: push.spec)
      hosts.broadcast = hosts.push
    }
    if let text = arguments[management] {
      hosts.management = try host(text, of: management.spec)
    }
    return hosts
  }

  private static func host(
    _ text: String, of spec: OptionSpec
  ) throws(CommandFailure) -> APNsHost {
    guard case .tcp(let name, let port) = try endpoint(text, of: spec) else {
      throw CommandFailure(.configuration, "--\(spec.name) \(text): expected HOST:PORT.")
    }
    return APNsHost(name: name, port: port)
  }

  static func endpoint(
    _ text: String, of spec: OptionSpec
  ) throws(CommandFailure) -> Endpoint {
    guard let colon = text.lastIndex(of: ":"), let port = Int(text[text.index(after: colon)...]),
      (0...65_535).contains(port)
    else { throw CommandFailure(.configuration, "--\(spec.name) \(text): expected HOST:PORT.") }
    let host = text[..<colon].trimmingCharacters(in: CharacterSet(charactersIn: "[]"))
    return .tcp(host: host.isEmpty ? "0.0.0.0" : host, port: port)
  }

  static func clock(from arguments: ParsedArguments) throws(CommandFailure) -> ServiceClock {
    guard let text = arguments[clock] else { return ServiceClock() }
    let numbers = text.split(separator: ",").compactMap { Double($0) }
    guard numbers.count == 3, numbers[0] > 0 else {
      throw CommandFailure(
        .configuration, "--clock \(text): expected three numbers, as 60,1700000000,1700000000.")
    }
    return ServiceClock(
      speed: numbers[0], startingAt: UnixTime(seconds: numbers[1]),
      at: UnixTime(seconds: numbers[2]))
  }
}
