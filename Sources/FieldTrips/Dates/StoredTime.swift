import Clocks
import JSON

/// Times as the store keeps them: milliseconds since 1970.
extension JSONValue {
  init(stored time: UnixTime) { self = .number(JSONNumber(time.milliseconds)) }

  /// What `init(stored:)` wrote.
  var storedTime: UnixTime? { int64.map(UnixTime.init(milliseconds:)) }
}
