internal import HTTP
internal import JSON

// Phones, by HTTP.
extension IntrospectionListener {
  func addPhones(_ router: inout Router) {
    add(&router, "POST", "/crowds") { simulator, request in
      try await Self.addCrowd(simulator, request)
    }
    add(&router, "POST", "/phones") { simulator, request in
      let settings = try Self.settings(
        request.request, PhoneSettings(bundleID: Self.bundleID(request, simulator)))
      return try await simulator.run { apns, _ throws(PhoneError) in
        var writer = JSONWriter()
        try apns.addPhone(settings).write(to: &writer)
        return writer.finish()
      }
    }
    add(&router, "GET", "/phones/{phone}") { simulator, request in
      let number = try Self.number("phone", request)
      return try await simulator.run { apns, now throws(PhoneError) in
        apns.advance(to: now)
        var writer = JSONWriter()
        try apns.phone(number).write(to: &writer)
        return writer.finish()
      }
    }
    add(&router, "GET", "/phones/{phone}/cards") { simulator, request in
      let number = try Self.number("phone", request)
      return try await simulator.run { apns, now throws(PhoneError) in
        Self.array(try apns.cards(of: number, now: now)) { $0.write(to: &$1) }
      }
    }
    add(&router, "GET", "/phones/{phone}/history") { simulator, request in
      let number = try Self.number("phone", request)
      return try await simulator.run { apns, now throws(PhoneError) in
        Self.array(try apns.history(of: number, now: now)) { $0.write(to: &$1) }
      }
    }
    add(&router, "PATCH", "/phones/{phone}") { simulator, request in
      try await Self.change(simulator, request)
    }
    add(&router, "POST", "/phones/{phone}/tokens") { simulator, request in
      let number = try Self.number("phone", request)
      var body = try IntrospectionBody(request.request)
      guard let pushType = try body.text("pushType") else {
        throw IntrospectionBody.Problem(text: "pushType is missing, such as voip or widgets.")
      }
      try body.finish()
      return try await simulator.run { apns, _ throws(PhoneError) in
        let token = try apns.registerForPushes(ofType: pushType, phone: number)
        var writer = JSONWriter()
        writer.object { $0.member("token", token) }
        return writer.finish()
      }
    }
    add(&router, "POST", "/phones/{phone}/activities") { simulator, request in
      try await Self.start(simulator, request)
    }
    add(&router, "DELETE", "/phones/{phone}/activities/{activity}") { simulator, request in
      let number = try Self.number("phone", request)
      let activityID = try Self.number("activity", request)
      try await simulator.run { apns, now throws(PhoneError) in
        try apns.dismiss(activityID, on: number, now: now)
      }
      return Array("{}".utf8)
    }
  }

  private static func number(
    _ name: String, _ request: RoutedRequest
  ) throws(IntrospectionBody.Problem) -> Int {
    guard let number = Int(request[name]) else {
      throw .init(text: "\(request[name]) is no number of a \(name).")
    }
    return number
  }

  /// `{"count", "channel"}`, and optionally what the app started with.
  private static func addCrowd(
    _ simulator: RunningSimulator, _ request: RoutedRequest
  ) async throws -> [UInt8] {
    var body = try IntrospectionBody(request.request)
    let bundleID = bundleID(request, simulator)
    let count = try body.integer("count") ?? 1
    guard let channelID = try body.text("channel") else {
      throw IntrospectionBody.Problem(text: "channel is missing.")
    }
    let contentState = try body.json("contentState") ?? Array(#"{"notesCaptured":0}"#.utf8)
    let traits = ActivityTraits(
      attributesType: try body.text("attributesType") ?? "FieldTripAttributes",
      attributesBytes: try body.integer("attributesBytes") ?? 0,
      allowsFrequentUpdates: try body.flag("frequentUpdates") ?? true)
    let staleDate = try body.integer("staleDate").map(Int64.init)
    try body.finish()
    guard count <= 10_000_000 else {
      throw IntrospectionBody.Problem(text: "count is \(count): at most 10,000,000 at a time.")
    }
    let numbers = try await simulator.run { apns, now throws(PhoneError) in
      try apns.addCrowd(
        count, bundleID: bundleID, channelID: channelID, contentState: contentState,
        traits: traits, staleDateSeconds: staleDate, now: now)
    }
    var writer = JSONWriter()
    writer.object { writer in
      writer.member("firstPhone", numbers.lowerBound)
      writer.member("count", numbers.count)
    }
    return writer.finish()
  }

  private static func settings(
    _ request: HTTPRequest, _ present: PhoneSettings
  ) throws(IntrospectionBody.Problem) -> PhoneSettings {
    var body = try IntrospectionBody(request)
    var settings = present
    if let text = try body.text("system") {
      guard let system = SystemVersion(text) else {
        throw .init(text: "system \(text) is no version of iOS, such as 18.0.")
      }
      settings.system = system
    }
    if let flag = try body.flag("online") { settings.isOnline = flag }
    if let flag = try body.flag("liveActivities") { settings.allowsLiveActivities = flag }
    if let flag = try body.flag("frequentUpdates") { settings.allowsFrequentUpdates = flag }
    if let flag = try body.flag("installed") { settings.isAppInstalled = flag }
    if let flag = try body.flag("forceQuit") { settings.isAppForceQuit = flag }
    if let flag = try body.flag("tapsAllow") { settings.tapsAllow = flag }
    try body.finish()
    return settings
  }

  private static func change(
    _ simulator: RunningSimulator, _ request: RoutedRequest
  ) async throws -> [UInt8] {
    let number = try Self.number("phone", request)
    let present = try await simulator.run { apns, _ throws(PhoneError) in
      try apns.phone(number).settings
    }
    let wanted = try settings(request.request, present)
    return try await simulator.run { apns, now throws(PhoneError) in
      try apns.change(number, now: now) { $0 = wanted }
      try apns.setOnline(wanted.isOnline, phone: number, now: now)
      var writer = JSONWriter()
      try apns.phone(number).write(to: &writer)
      return writer.finish()
    }
  }

  private static func start(
    _ simulator: RunningSimulator, _ request: RoutedRequest
  ) async throws -> [UInt8] {
    let number = try Self.number("phone", request)
    var body = try IntrospectionBody(request.request)
    let type = try body.text("attributesType") ?? "FieldTripAttributes"
    let attributes = try body.json("attributes") ?? []
    let contentState = try body.json("contentState") ?? Array(#"{"notesCaptured":0}"#.utf8)
    let channelID = try body.text("channel")
    let staleDate = try body.integer("staleDate").map(Int64.init)
    try body.finish()
    return try await simulator.run { apns, now throws(PhoneError) in
      let activityID = try apns.startActivity(
        on: number, attributesType: type, attributes: attributes, contentState: contentState,
        channelID: channelID, staleDateSeconds: staleDate, now: now)
      let phone = try apns.phone(number)
      let token = phone.activities.first { $0.activityID == activityID }?.updateToken
      var writer = JSONWriter()
      writer.object { writer in
        writer.member("activity", activityID)
        writer.member("updateToken", text: token)
      }
      return writer.finish()
    }
  }
}
