package import Clocks
package import Crypto
internal import HTTP
package import Transport

/// A simulated APNs that listens on real sockets. Its work is done on one loop.
package actor RunningSimulator {
  package nonisolated let loop: EventLoop
  package nonisolated var unownedExecutor: UnownedSerialExecutor {
    loop.serial.asUnownedSerialExecutor()
  }
  /// What a client needs to connect: ports, trust, key.
  package nonisolated let access: SimulatorAccess

  private let authority: SimulatedAuthority
  var apns: SimulatedAPNs
  var clock: SimulatorClock
  var faultPlan: FaultPlan
  var connections: [Int: ServedConnection] = [:]
  var records: [Int: ConnectionRecord] = [:]
  var listeners: [StreamListener] = []
  var introspection: HTTPServer?
  var waiters: [Waiter] = []
  private var nextConnection = 1
  private var deliveryTimer: LoopTimer?
  private(set) var isStopped = false

  struct Waiter {
    var isMet: (inout SimulatedAPNs, UnixTime) -> Bool
    var resume: (Bool) -> Void
    var deadline: LoopTimer?
    var id: Int
  }
  var nextWaiter = 0

  init(
    _ apns: SimulatedAPNs, clock: ServiceClock, access: SimulatorAccess,
    authority: SimulatedAuthority, loop: EventLoop
  ) {
    self.apns = apns
    self.clock = SimulatorClock(clock)
    self.access = access
    self.authority = authority
    self.loop = loop
    faultPlan = FaultPlan(
      seed: apns.configuration.faultSeed ?? apns.configuration.seed ^ 0xFA17)
  }

  /// The simulator's own time.
  package var now: UnixTime { clock.now }

  /// Looks at the environment, or changes it: phones, keys, channels, statistics.
  ///
  /// - Parameter body: gets the environment and the time.
  package func run<Result, Failure: Error>(
    _ body: @Sendable (inout SimulatedAPNs, UnixTime) throws(Failure) -> sending Result
  ) throws(Failure) -> sending Result {
    let result = try body(&apns, clock.now)
    changed()
    return result
  }

  /// Puts the simulator's clock forward; everything that is due happens.
  package func advance(by span: Duration) {
    clock.advance(by: span)
    apns.advance(to: clock.now)
    changed()
  }

  /// Registers a certificate, and makes one that a client may connect with.
  package func issue(_ certificate: RegisteredCertificate) throws(CryptoError) -> TLSIdentity {
    apns.register(certificate)
    return try authority.client(certificate.userID)
  }

  package func setFaults(_ faults: SimulatorFaults) throws(InvalidSetting) {
    try faults.validate()
    apns.configuration.faults = faults
  }

  /// Spoils one connection, or with nil treats it like all others again.
  ///
  /// - Parameter number: as in ``connectionRecords``; nothing happens when it is closed.
  package func setFaults(
    _ faults: SimulatorFaults?, connection number: Int
  ) throws(InvalidSetting) {
    try faults?.validate()
    connections[number]?.faults = faults
  }

  /// Leaves what providers send in the kernel's buffers, or takes it up again: a server that hangs
  /// while TCP stays up.
  package func setReading(_ isReading: Bool) {
    for connection in connections.values {
      if isReading { connection.http?.resumeReading() } else { connection.http?.stopReading() }
    }
  }

  /// Announces another limit on streams everywhere, 0 included, until an answer changes it again.
  package func announce(maxConcurrentStreams: Int) {
    for connection in connections.values {
      connection.http?.submitSettings(maxConcurrentStreams: UInt32(clamping: maxConcurrentStreams))
      connection.memory.maxConcurrentStreams = maxConcurrentStreams
      records[connection.number]?.settings.append(
        .init(at: clock.now, maxConcurrentStreams: maxConcurrentStreams))
    }
  }

  /// Changes how pushes travel, from now on.
  package func setDelivery(_ model: DeliveryModel) throws(InvalidSetting) {
    try model.validate()
    apns.foldAllCrowds(now: clock.now)
    apns.configuration.delivery = model
  }

  /// All connections since the start, the newest two thousand of them.
  package var connectionRecords: [ConnectionRecord] {
    records.values.sorted { $0.number < $1.number }
  }

  /// Connections that have not ended, stalled ones among them.
  package var openConnections: Int { connections.count }

  /// Ends every connection at once, as a network does that went away.
  package func cutConnections() {
    for connection in connections.values { connection.http?.abort() }
  }

  /// Tells every connection to go away; what is in flight is answered.
  package func goAway(_ reason: Reason = .shutdown) {
    for connection in connections.values { sendGoAway(reason, connection, lastStream: nil) }
  }

  /// Stops listening, says GOAWAY with `Shutdown` everywhere, and cuts what is still there then.
  package func stop() async {
    guard !isStopped else { return }
    isStopped = true
    for listener in listeners { listener.close() }
    goAway(.shutdown)
    let graceEnd = loop.now + .milliseconds(500)
    while !connections.isEmpty, loop.now < graceEnd {
      do { try await loop.sleep(for: .milliseconds(5)) } catch { break }
    }
    cutConnections()
    await introspection?.drain(grace: .milliseconds(100))
    introspection = nil
    for waiter in waiters { waiter.resume(false) }
    waiters.removeAll()
  }

  /// Waits until `isMet` holds; looked at after each request, delivery and change.
  ///
  /// - Parameter limit: of real time.
  /// - Returns: false when the time was over.
  package func wait(
    upTo limit: Duration, until isMet: @escaping @Sendable (inout SimulatedAPNs, UnixTime) -> Bool
  ) async -> Bool {
    await withUnsafeContinuation { continuation in
      apns.advance(to: clock.now)
      if isMet(&apns, clock.now) { return continuation.resume(returning: true) }
      let id = nextWaiter
      nextWaiter += 1
      var waiter = Waiter(
        isMet: isMet, resume: { continuation.resume(returning: $0) }, deadline: nil, id: id)
      waiter.deadline = loop.schedule(at: loop.now + limit) { [weak self] in
        self?.assumeIsolated { $0.giveUp(id) }
      }
      waiters.append(waiter)
      scheduleLook()
    }
  }

  private func giveUp(_ id: Int) {
    guard let index = waiters.firstIndex(where: { $0.id == id }) else { return }
    waiters.remove(at: index).resume(false)
  }

  /// Looks whether somebody waited for what has just happened.
  func changed() {
    guard !waiters.isEmpty else { return }
    apns.advance(to: clock.now)
    let now = clock.now
    waiters.removeAll { waiter in
      guard waiter.isMet(&apns, now) else { return false }
      if let deadline = waiter.deadline { loop.cancel(deadline) }
      waiter.resume(true)
      return true
    }
  }

  /// Crowds change by the mere passing of time, so whoever waits is looked after every few
  /// milliseconds.
  private func scheduleLook() {
    guard deliveryTimer == nil, !waiters.isEmpty else { return }
    deliveryTimer = loop.schedule(at: loop.now + .milliseconds(10)) { [weak self] in
      self?.assumeIsolated { simulator in
        simulator.deliveryTimer = nil
        simulator.changed()
        simulator.scheduleLook()
      }
    }
  }

  /// A provider has connected. On the loop.
  func accepted(_ stream: ByteStream, on port: SimulatedPort) {
    // A client that offers protocols and not h2 was refused in the handshake. One that offers none
    // is believed to speak HTTP/2: some that work with Apple say nothing in ALPN.
    guard !isStopped, stream.alpn ?? "h2" == "h2" else { return stream.abort() }
    let settings = apns.configuration.connections
    // Whoever shows a certificate that names nobody is judged like a stranger.
    let certificate = stream.peerSubject.map { RegisteredCertificate.userID(inSubject: $0) ?? "" }
    let memory = ConnectionMemory(settings, certificateUserID: certificate)
    let connection = ServedConnection(
      number: nextConnection, port: port, simulator: self, memory: memory,
      plan: faultPlan.connection(apns.configuration.faults))
    nextConnection += 1
    connections[connection.number] = connection
    records[connection.number] = ConnectionRecord(
      number: connection.number, port: port, openedAt: clock.now,
      settings: [.init(at: clock.now, maxConcurrentStreams: memory.maxConcurrentStreams)])
    records[connection.number - 2000] = nil
    connection.serve(stream, bodyLimitBytes: settings.bodyLimitBytes)
    watchIdleness(of: connection)
    if let certificate, let reason = apns.problem(ofCertificate: certificate) {
      sendGoAway(reason, connection, lastStream: 0)
    }
  }

  func closed(_ connection: ServedConnection, reason: String) {
    connections[connection.number] = nil
    if let timer = connection.idleTimer { loop.cancel(timer) }
    records[connection.number]?.closedAt = clock.now
    records[connection.number]?.closeReason = reason
  }
}

extension RunningSimulator {
  package var faults: SimulatorFaults { apns.configuration.faults }
  /// How often each fault came so far, by its name in ``FaultText``.
  package var faultCounts: [String: Int] { faultPlan.counts }
  package var delivery: DeliveryModel { apns.configuration.delivery }
}
