import Clocks
import HTTP
package import Transport

/// How an ``APNsClient`` behaves.
public struct APNsClientConfiguration: Sendable {
  /// Connections for broadcasts.
  public var broadcasts = ConnectionPoolConfiguration()
  /// Connections for channels.
  public var management: ConnectionPoolConfiguration
  /// Connections for pushes to devices.
  public var pushes: ConnectionPoolConfiguration

  /// Of broadcasts: none, since by the next try there may be a newer state to send instead.
  public var broadcastRetries = RetryPolicy.never
  /// Of calls about channels.
  public var managementRetries = RetryPolicy.never
  /// Of pushes to devices.
  public var pushRetries = RetryPolicy.quick
  /// How often one request goes out to ask whether APNs still refuses the credentials.
  package var probeInterval = CredentialGate.probeInterval

  /// What suits a server with up to some thousand requests a second.
  public init() {
    pushes = ConnectionPoolConfiguration()
    pushes.maxConnections = 4
    management = ConnectionPoolConfiguration()
    management.maxConnections = 1
    // The list of 10,000 channels is the largest answer of APNs.
    management.http.limits.bodyBytes = 4 << 20
  }

  func check() throws(APNsSetupError) {
    try broadcasts.check("broadcasts")
    try management.check("management")
    try pushes.check("pushes")
    try broadcastRetries.check("broadcastRetries")
    try managementRetries.check("managementRetries")
    try pushRetries.check("pushRetries")
  }

  mutating func connect(through proxy: HTTPProxy) {
    broadcasts.http.proxy = proxy
    management.http.proxy = proxy
    pushes.http.proxy = proxy
  }
}

/// Speaks to APNs for one app in one environment: broadcasts, their channels, and device pushes.
///
/// It repeats by itself what APNs certainly did not process, as long as the deadline allows, once
/// what failed for the age of the provider token, and what APNs could not serve just then as the
/// configuration says. It never repeats what APNs may have seen: whether a late state is worth
/// another try is for the publisher to know. Broadcasts, management
/// and device pushes have connections of their own: APNs slows a connection down, to one stream,
/// when many of its requests are refused, and dead tokens must not slow a broadcast.
public actor APNsClient {
  /// For whom this client speaks.
  public nonisolated let app: APNsApp
  package nonisolated let loop: EventLoop
  public nonisolated var unownedExecutor: UnownedSerialExecutor {
    loop.serial.asUnownedSerialExecutor()
  }

  nonisolated let exchange: AuthorizedExchange
  nonisolated let configuration: APNsClientConfiguration
  private let broadcasts: ConnectionPool
  private let management: ConnectionPool
  nonisolated let pushes: ConnectionPool
  private let templates: BroadcastTemplates
  private var requestIDs = RequestIDs()
  nonisolated let shapes: PushShapes

  /// Makes a client; connections are opened when they are needed.
  ///
  /// - Parameters:
  ///   - credentials: of a signing key, shared by all its clients; or a certificate of this app.
  ///   - hosts: nil for Apple's in the app's environment.
  /// - Throws: ``APNsSetupError`` when APNs would refuse everything: the key or certificate is not
  ///   for this app, the certificate has expired. And when certificates cannot be read, or a
  ///   setting has a value with which nothing works.
  public init(
    app: APNsApp, credentials: APNsCredentials, hosts: APNsHosts? = nil,
    configuration: APNsClientConfiguration = APNsClientConfiguration()
  ) throws(APNsSetupError) {
    try self.init(
      app: app, hosts: hosts ?? .apple(app.environment), credentials: credentials,
      clock: ServiceClock(), configuration: configuration, loop: try SharedLoop.get())
  }

  /// - Parameters:
  ///   - credentials: of a signing key, shared by all its clients; or a certificate of this app.
  ///   - clock: whose wall time APNs lives in; deadlines are real time.
  /// - Throws: when APNs would refuse everything: the key or certificate is not for this app, the
  ///   certificate has expired. And when certificates cannot be read, or a setting has a value with
  ///   which nothing works.
  package init(
    app: APNsApp, hosts: APNsHosts, credentials: APNsCredentials, clock: ServiceClock,
    configuration: APNsClientConfiguration = APNsClientConfiguration(), loop: EventLoop
  ) throws(APNsSetupError) {
    try configuration.check()
    try credentials.check(for: app, at: clock.wall)
    let tls = try Self.context(hosts.trust, credentials)
    var configuration = configuration
    if let proxy = hosts.proxy { configuration.connect(through: proxy) }
    self.configuration = configuration
    self.app = app
    self.loop = loop
    exchange = AuthorizedExchange(
      credentials: credentials, clock: clock, probeInterval: configuration.probeInterval, loop: loop
    )
    broadcasts = ConnectionPool(
      host: hosts.broadcast, tls: tls, configuration: configuration.broadcasts, loop: loop)
    management = ConnectionPool(
      host: hosts.management, tls: tls, configuration: configuration.management, loop: loop)
    pushes = ConnectionPool(
      host: hosts.push, tls: tls, configuration: configuration.pushes, loop: loop)
    shapes = PushShapes(app: app.bundleID, authority: hosts.push.authority)
    templates = BroadcastTemplates(app: app.bundleID, authority: hosts.broadcast.authority)
  }

  private static func context(
    _ trust: TLSTrust, _ credentials: APNsCredentials
  ) throws(APNsSetupError) -> TLSClientContext {
    var identity: TLSIdentity?
    if case .certificate(let certificate) = credentials { identity = certificate.identity }
    do throws(TLSConfigurationError) {
      return try TLSClientContext(trust: trust, alpn: ["h2"], identity: identity)
    } catch {
      throw .tls(error.description)
    }
  }

  // MARK: Broadcasts

  /// Sends one content-state to every phone that is subscribed to a channel.
  ///
  /// - Parameter deadline: real time for everything, the wait for a connection included.
  public func broadcast(
    _ broadcast: Broadcast, deadline: Duration = .seconds(10)
  ) async -> BroadcastResult {
    if let failure = Self.ruleFailure(broadcast) { return .notSent(failure) }
    let requestID = broadcast.requestID ?? requestIDs.next()
    let values: FieldValues = [broadcast.channelID.text, broadcast.expiration, requestID]
    let answer = await exchange.send(
      over: broadcasts, templates.template(broadcast.priority), values: values,
      body: broadcast.payload, deadline: loop.now + deadline,
      retries: configuration.broadcastRetries)
    switch answer {
    case .success(let response):
      return .accepted(uniqueID: response.fields["apns-unique-id"], requestID: requestID)
    case .refused(let refusal): return .refused(refusal)
    case .notSent(let failure): return .notSent(failure)
    case .unknown(let failure): return .unknown(failure)
    }
  }

  private static func ruleFailure(_ broadcast: Broadcast) -> APNsFailure? {
    if let id = broadcast.requestID, !RequestIDs.isCanonical(id) { return .rule(.unusableID) }
    let (bytes, limit) = (broadcast.payload.count, BroadcastPayload.limitBytes)
    if bytes == 0 { return .payload(.empty) }
    return bytes <= limit ? nil : .payload(.tooLarge(bytes: bytes, limit: limit))
  }

  // MARK: Channels

  /// Makes a channel. When the result is ``ChannelResult/unknown(_:)`` one may exist that only a
  /// comparison with ``listChannels(deadline:)`` finds.
  ///
  /// - Parameter requestID: a UUID in lower case, to find this call again; made here when nil.
  public func createChannel(
    storage: ChannelStorage, requestID: String? = nil, deadline: Duration = .seconds(15)
  ) async -> ChannelResult<ChannelID> {
    await manage(.create(storage), requestID, deadline) { response, host throws(MalformedReply) in
      try ChannelManagement.createdChannel(response, host: host)
    }
  }

  /// The storage policy of a channel. ``APNsReason/channelNotRegistered`` says that there is none.
  public func readChannel(
    _ channelID: ChannelID, deadline: Duration = .seconds(15)
  ) async -> ChannelResult<ChannelStorage> {
    await manage(.read(channelID), nil, deadline) { response, host throws(MalformedReply) in
      try ChannelManagement.storage(response, of: channelID, host: host)
    }
  }

  /// Deletes a channel for good. Messages that APNs stored may still be delivered after it.
  public func deleteChannel(
    _ channelID: ChannelID, deadline: Duration = .seconds(15)
  ) async -> ChannelResult<Void> {
    await manage(.delete(channelID), nil, deadline) { _, _ throws(MalformedReply) in }
  }

  /// All channels of the app, also those of other services that share it.
  public func listChannels(
    deadline: Duration = .seconds(30)
  ) async -> ChannelResult<[ChannelID]> {
    await manage(.list, nil, deadline) { response, host throws(MalformedReply) in
      try ChannelManagement.channels(response, host: host)
    }
  }

  /// The same, and when APNs answered, by its own clock.
  package func listChannelsDated(
    deadline: Duration
  ) async -> (result: ChannelResult<[ChannelID]>, serverDate: UnixTime?) {
    var date: UnixTime?
    let result = await manage(.list, nil, deadline) { response, host throws(MalformedReply) in
      date = response.fields["date"].flatMap { HTTPDate.parse($0) }
      return try ChannelManagement.channels(response, host: host)
    }
    if case .refused(let refusal) = result { date = refusal.serverDate }
    return (result, date)
  }

  // MARK: State

  /// Tasks that prefer this executor call the client without a change of thread, which is half of
  /// what a single push costs: `Task(executorPreference: client.executor) { … }`.
  public nonisolated var executor: any TaskExecutor { loop.tasks }

  /// What is known of the credentials and the connections; for readiness checks and metrics.
  public var health: APNsHealth {
    get async {
      APNsHealth(
        credentials: await exchange.health, broadcasts: await broadcasts.status,
        management: await management.status, pushes: await pushes.status)
    }
  }

  /// Opens the connection for broadcasts, so that the first one does not wait for it.
  public func warmUp() async { await broadcasts.warmUp() }

  /// Ends all connections. Later calls answer ``APNsFailure/exchange(_:)``.
  ///
  /// - Parameter grace: how long what is open may still take, on all connections together.
  public func close(grace: Duration = .seconds(5)) async {
    await withTaskGroup(of: Void.self) { group in
      for pool in [broadcasts, management, pushes] {
        group.addTask(executorPreference: loop.tasks) { await pool.close(grace: grace) }
      }
    }
  }

  // MARK: One request

  private func manage<Value: Sendable>(
    _ call: ChannelManagement.Call, _ requestID: String?, _ deadline: Duration,
    read: (HTTPResponse, String) throws(MalformedReply) -> Value
  ) async -> ChannelResult<Value> {
    if let requestID, !RequestIDs.isCanonical(requestID) { return .notSent(.rule(.unusableID)) }
    let requestID = requestID ?? requestIDs.next()
    let (bundleID, authority) = (app.bundleID, management.host.authority)
    let template = CachedTemplate { authorization throws(ExchangeFailure) in
      try RequestTemplate(
        ChannelManagement.request(
          call, app: bundleID, authority: authority, authorization: authorization,
          requestID: requestID))
    }
    let answer = await exchange.send(
      over: management, template, values: [], body: call.body, deadline: loop.now + deadline,
      retries: configuration.managementRetries)
    switch answer {
    case .success(let response):
      guard response.status == call.goodStatus else {
        return .malformed(
          MalformedReply(
            host: "\(management.host)", status: response.status, channelID: call.channelID,
            problem: "the status should be \(call.goodStatus)",
            excerpt: BodyExcerpt.of(response.body)))
      }
      do throws(MalformedReply) {
        return .done(try read(response, "\(management.host)"))
      } catch {
        return .malformed(error)
      }
    case .refused(let refusal): return .refused(refusal)
    case .notSent(let failure): return .notSent(failure)
    case .unknown(let failure): return .unknown(failure)
    }
  }
}
