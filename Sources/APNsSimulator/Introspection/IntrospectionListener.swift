internal import Clocks
internal import HTTP
internal import JSON
internal import Transport

/// The simulator's own interface, for other processes: plain HTTP/1.1 with JSON, apart from the
/// ports that pretend to be Apple's. It has no access control, so it belongs on loopback.
struct IntrospectionListener: Sendable {
  let simulator: RunningSimulator

  /// What a route does: answers, or says what was wrong with the request.
  typealias Action = @Sendable (RunningSimulator, RoutedRequest) async throws -> [UInt8]

  func router() -> Router {
    var router = Router()
    addReading(&router)
    addFollowing(&router)
    addPhones(&router)
    addControl(&router)
    return router
  }

  func add(
    _ router: inout Router, _ method: String, _ template: String, _ action: @escaping Action
  ) {
    let simulator = simulator
    router.on(method, template) { request in
      do {
        let body = try await action(simulator, request)
        return .response(
          HTTPResponse(status: 200, fields: ["content-type": "application/json"], body: body))
      } catch let error as PhoneError {
        return .response(HTTPProblem.response(status: 404, detail: error.description))
      } catch let problem as IntrospectionBody.Problem {
        return .response(HTTPProblem.response(status: 400, detail: problem.text))
      } catch {
        return .response(HTTPProblem.response(status: 400, detail: "\(error)"))
      }
    }
  }

  private func addReading(_ router: inout Router) {
    add(&router, "GET", "/access") { simulator, _ in simulator.access.json }
    add(&router, "GET", "/stats") { simulator, _ in
      await simulator.run { apns, _ in
        var writer = JSONWriter()
        apns.statistics.write(to: &writer)
        return writer.finish()
      }
    }
    add(&router, "GET", "/complaints") { simulator, _ in
      await simulator.run { apns, _ in Self.complaints(apns.complaints) }
    }
    add(&router, "GET", "/connections") { simulator, _ in
      let records = await simulator.connectionRecords
      return Self.array(records) { $0.write(to: &$1) }
    }
    add(&router, "GET", "/channels") { simulator, request in
      let bundleID = Self.bundleID(request, simulator)
      return await simulator.run { apns, _ in
        Self.array(apns.channels(of: bundleID)) { $0.write(to: &$1, full: false) }
      }
    }
    add(&router, "GET", "/channels/{channel}") { simulator, request in
      let bundleID = Self.bundleID(request, simulator)
      let channelID = request["channel"]
      return try await simulator.run { apns, _ throws(PhoneError) in
        guard let channel = apns.channel(bundleID, channelID) else {
          throw .unknownChannel(channelID)
        }
        var writer = JSONWriter()
        channel.write(to: &writer, full: true)
        return writer.finish()
      }
    }
    add(&router, "GET", "/channels/{channel}/convergence") { simulator, request in
      let bundleID = Self.bundleID(request, simulator)
      let channelID = request["channel"]
      return try await simulator.run { apns, now throws(PhoneError) in
        var writer = JSONWriter()
        try apns.convergence(bundleID, channelID, now: now).write(to: &writer)
        return writer.finish()
      }
    }
  }

  private func addControl(_ router: inout Router) {
    add(&router, "GET", "/faults") { simulator, _ in
      let counts = await simulator.faultCounts
      var writer = JSONWriter()
      writer.object { writer in
        for (name, count) in counts.sorted(by: { $0.key < $1.key }) { writer.member(name, count) }
      }
      return writer.finish()
    }
    add(&router, "POST", "/faults") { simulator, request in
      var body = try IntrospectionBody(request.request)
      guard let text = try body.text("faults") else {
        throw IntrospectionBody.Problem(text: "faults is missing, such as \"reset=1%\".")
      }
      try body.finish()
      try await simulator.setFaults(try FaultText.parse(text))
      return Array("{}".utf8)
    }
    add(&router, "POST", "/delivery") { simulator, request in
      let model = try Self.delivery(request.request, await simulator.delivery)
      try await simulator.setDelivery(model)
      return Array("{}".utf8)
    }
    add(&router, "GET", "/clock") { simulator, _ in
      Self.clock(await simulator.now)
    }
    add(&router, "POST", "/clock") { simulator, request in
      var body = try IntrospectionBody(request.request)
      let span = try body.seconds("advanceSeconds") ?? .zero
      try body.finish()
      guard span >= .zero else {
        throw IntrospectionBody.Problem(text: "advanceSeconds is negative; time does not go back.")
      }
      await simulator.advance(by: span)
      return Self.clock(await simulator.now)
    }
    add(&router, "POST", "/go-away") { simulator, request in
      var body = try IntrospectionBody(request.request)
      let text = try body.text("reason") ?? Reason.shutdown.rawValue
      try body.finish()
      guard let reason = Reason(rawValue: text) else {
        throw IntrospectionBody.Problem(text: "APNs knows no reason \(text).")
      }
      await simulator.goAway(reason)
      return Array("{}".utf8)
    }
    add(&router, "POST", "/cut") { simulator, _ in
      await simulator.cutConnections()
      return Array("{}".utf8)
    }
    add(&router, "POST", "/tokens/{token}") { simulator, request in
      var body = try IntrospectionBody(request.request)
      let text = try body.text("state")
      try body.finish()
      let token = request["token"]
      try await simulator.run { apns, now throws(IntrospectionBody.Problem) in
        apns.setState(try Self.tokenState(text, now), ofToken: token)
      }
      return Array("{}".utf8)
    }
  }

  static func tokenState(
    _ text: String?, _ now: UnixTime
  ) throws(IntrospectionBody.Problem) -> DeviceToken.State {
    switch text {
    case "active": return .active
    case "unregistered": return .unregistered(since: now)
    case "expired": return .expired(since: now)
    case "wrongEnvironment": return .wrongEnvironment
    case "zombie": return .zombie
    default:
      throw .init(
        text: "state is none of active, unregistered, expired, wrongEnvironment, zombie.")
    }
  }

  /// The app that a request is about: `?bundle=`, or the first one.
  static func bundleID(_ request: RoutedRequest, _ simulator: RunningSimulator) -> String {
    request.query["bundle"] ?? simulator.access.bundleIDs[0]
  }

  static func array<Element>(
    _ elements: [Element], _ body: (Element, inout JSONWriter) -> Void
  ) -> [UInt8] {
    var writer = JSONWriter()
    writer.array { writer in
      for element in elements { body(element, &writer) }
    }
    return writer.finish()
  }

  private static func clock(_ now: UnixTime) -> [UInt8] {
    var writer = JSONWriter()
    writer.object { $0.member("now", time: now) }
    return writer.finish()
  }

  private static func complaints(_ log: ComplaintLog) -> [UInt8] {
    var writer = JSONWriter()
    writer.object { writer in
      writer.member("count", log.count)
      writer.key("recent")
      writer.array { writer in
        for complaint in log.recent {
          writer.object { writer in
            writer.member("at", time: complaint.at)
            writer.member("text", complaint.text)
          }
        }
      }
    }
    return writer.finish()
  }

  private static func delivery(
    _ request: HTTPRequest, _ present: DeliveryModel
  ) throws(IntrospectionBody.Problem) -> DeliveryModel {
    var body = try IntrospectionBody(request)
    var model = present
    if let span = try body.seconds("latencyLowSeconds") { model.latencyLow = span }
    if let span = try body.seconds("latencyHighSeconds") { model.latencyHigh = span }
    if let share = try body.number("lossShare") { model.lossShare = share }
    if let share = try body.number("duplicateShare") { model.duplicateShare = share }
    if let share = try body.number("delayedShare") { model.delayedShare = share }
    if let span = try body.seconds("batchIntervalSeconds") { model.batchInterval = span }
    try body.finish()
    return model
  }
}
