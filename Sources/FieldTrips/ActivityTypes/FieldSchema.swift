package import JSON

/// One member of a content-state or of attributes, as the phone's struct declares it.
package struct FieldSchema: Sendable, Equatable {
  /// Exactly as the Swift property is called: the phone decodes with default strategies.
  package var name: String
  package var kind: FieldKind
  /// Whether the phone's property is not optional: without it the card does not change, silently.
  package var isRequired: Bool
  /// What a state that nobody set holds; a required field of a content-state needs one.
  package var initial: JSONValue?
  /// Whether text may be cut, or a list shortened at its old end, when the state grows too large.
  package var mayBeTrimmed: Bool
  /// Kept from the card: never written into a content-state, as when a Lock Screen must not show
  /// where a group is. Not for required fields.
  package var isWithheld: Bool

  package init(
    _ name: String, _ kind: FieldKind, isRequired: Bool = false, initial: JSONValue? = nil,
    mayBeTrimmed: Bool = false, isWithheld: Bool = false
  ) {
    self.name = name
    self.kind = kind
    self.isRequired = isRequired
    self.initial = initial
    self.mayBeTrimmed = mayBeTrimmed
    self.isWithheld = isWithheld
  }
}

/// The type of a field's value.
package indirect enum FieldKind: Sendable, Equatable {
  /// Spelled as an integer of 64 bits: the phone's `Int` does not take 1.5.
  case integer
  case number
  case string(maxBytes: Int)
  case bool
  case date(DateUnit)
  /// One of these strings, as an enum of raw values decodes.
  case choice([String])
  case object([FieldSchema])
  /// An object with exactly one of these members, as Swift encodes an enum whose cases carry values.
  case oneOf([FieldSchema])
  case list(of: FieldKind, maximum: Int)

  /// With its article, for messages.
  var noun: String {
    switch self {
    case .integer: "a whole number"
    case .number: "a number"
    case .string: "a string"
    case .bool: "true or false"
    case .date(let unit): unit.noun
    case .choice(let choices): "one of " + choices.map { "\"\($0)\"" }.joined(separator: ", ")
    case .object, .oneOf: "an object"
    case .list: "an array"
    }
  }
}

/// How the phone's struct reads a date.
package enum DateUnit: String, Sendable, CaseIterable {
  case secondsSince1970
  /// `JSONDecoder`'s default for a `Date`.
  case secondsSince2001
  /// RFC 3339 text.
  case text

  /// Unix seconds of 2001-01-01T00:00:00Z.
  package static let referenceDate = 978_307_200.0

  var noun: String {
    switch self {
    case .secondsSince1970: "a date in seconds since 1970"
    case .secondsSince2001: "a date in seconds since 2001"
    case .text: "a date as RFC 3339 text"
    }
  }
}
