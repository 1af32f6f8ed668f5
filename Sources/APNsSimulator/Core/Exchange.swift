/// One header field. Names are lower case, as HTTP/2 demands; repeated fields stay repeated.
package struct SimulatedField: Sendable, Equatable {
  package var name: String
  package var value: String

  package init(_ name: String, _ value: String) {
    self.name = name
    self.value = value
  }
}

/// What a provider asked, as it came off the wire: nothing merged, nothing repaired.
package struct SimulatedRequest: Sendable {
  package var method: String
  package var path: String
  package var fields: [SimulatedField]
  package var body: [UInt8]

  package init(
    method: String, path: String, fields: [SimulatedField] = [], body: [UInt8] = []
  ) {
    self.method = method
    self.path = path
    self.fields = fields
    self.body = body
  }

  /// The first value of a field, or nil. Repeated fields are refused before anyone asks for one.
  package func value(_ name: String) -> String? {
    for field in fields where field.name == name { return field.value }
    return nil
  }

  /// The first name that occurs twice, or nil.
  var repeatedField: String? {
    // Requests carry about ten fields: comparing pairs is cheaper than a set.
    for (index, field) in fields.enumerated() {
      for earlier in fields[..<index] where earlier.name == field.name { return field.name }
    }
    return nil
  }

  mutating func set(_ name: String, _ value: String?) {
    fields.removeAll { $0.name == name }
    if let value { fields.append(SimulatedField(name, value)) }
  }
}

/// What the listener has to do to the connection after an answer.
package enum ConnectionEffect: Sendable, Equatable {
  /// Announce a new limit by a SETTINGS frame.
  case setMaxConcurrentStreams(Int)
  /// Send GOAWAY with `{"reason": …}` as its debug data, then close once streams are done.
  case goAway(Reason)
}

/// What APNs says to one request.
package struct SimulatedAnswer: Sendable, Equatable {
  package var status: Int
  package var fields: [SimulatedField]
  package var body: [UInt8]
  /// The reason in the body, for statistics; nil when the request was accepted.
  package var reason: Reason?
  package var effects: [ConnectionEffect] = []

  package func value(_ name: String) -> String? {
    for field in fields where field.name == name { return field.value }
    return nil
  }

  package var text: String { String(decoding: body, as: UTF8.self) }
}

/// The two listeners of one environment.
package enum SimulatedPort: String, Sendable {
  /// Device pushes and broadcasts: 443 or 2197 at Apple.
  case push
  /// Channel management: 2195 (development) or 2196 (production) at Apple.
  case management
}

/// Sandbox and production are separate worlds: no token, channel or new key crosses.
package enum APNsEnvironment: String, Sendable, CaseIterable {
  case development
  case production
}
