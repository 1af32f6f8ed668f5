/// Why a payload cannot be sent. Found before anything leaves the process.
public enum PayloadError: Error, Sendable, Equatable, CustomStringConvertible {
  case tooLarge(bytes: Int, limit: Int)
  case empty
  /// Content-state and attributes together, which the phone limits whatever the wire allows.
  case contentTooLarge(bytes: Int, limit: Int)
  /// The text of `name` is JSON, but no object.
  case notAnObject(name: String)
  /// An alert of a Live Activity without a title or without a body is not shown.
  case incompleteAlert
  /// A number that JSON or Apple does not allow.
  case outOfRange(name: String, allowed: String)
  /// Two things that exclude each other.
  case conflict(String)

  public var description: String {
    switch self {
    case .tooLarge(let bytes, let limit):
      "The payload has \(bytes) bytes, \(bytes - limit) over APNs' limit of \(limit)."
    case .empty: "The payload is empty; APNs refuses that with PayloadEmpty."
    case .contentTooLarge(let bytes, let limit):
      "The content-state (with the attributes) has \(bytes) bytes, \(bytes - limit) over the "
        + "\(limit) that a Live Activity can hold."
    case .notAnObject(let name): "\(name) must be a JSON object."
    case .incompleteAlert:
      "An alert of a Live Activity needs a title and a body; without them it is not shown."
    case .outOfRange(let name, let allowed): "\(name) is out of range: expected \(allowed)."
    case .conflict(let rule): rule
    }
  }
}
