internal import JSON

/// What an app's `ActivityAttributes` struct can decode, as `JSONDecoder` with its default
/// strategies would: names match exactly, unknown keys are harmless, a missing or null key fails
/// unless it is optional.
package struct ActivitySchema: Sendable, Equatable {
  /// The struct's name, as in `attributes-type`.
  package var attributesType: String
  package var attributes: [Field]
  package var contentState: [Field]

  package init(attributesType: String, attributes: [Field], contentState: [Field]) {
    self.attributesType = attributesType
    self.attributes = attributes
    self.contentState = contentState
  }

  package struct Field: Sendable, Equatable {
    package var key: String
    package var kind: Kind
    package var isOptional: Bool

    package init(_ key: String, _ kind: Kind, optional: Bool = false) {
      self.key = key
      self.kind = kind
      isOptional = optional
    }
  }

  package indirect enum Kind: Sendable, Equatable {
    case string, integer, number, boolean, anything
    /// Seconds since 2001-01-01, the default strategy's origin.
    case date
    case list(Kind)
    case record([Field])
    /// An enum of raw strings: others do not decode.
    case choice([String])
    /// An enum whose cases carry values: an object with one key, which names the case.
    case variant([Field])
  }

  /// The activity type of a field trip.
  package static let fieldTrip = ActivitySchema(
    attributesType: "FieldTripAttributes",
    attributes: [
      Field("name", .string), Field("notebook", .string), Field("tripID", .string),
      Field("startedAt", .integer, optional: true),
    ],
    contentState: [
      Field("notesCaptured", .integer), Field("lastPlaceName", .string, optional: true),
    ])

  /// - Returns: why `value` does not decode, naming the path; nil when it does.
  static func problem(_ value: JSONValue, _ fields: [Field], path: String) -> String? {
    guard let object = value.object else { return "\(path) is not an object" }
    for field in fields {
      let place = "\(path).\(field.key)"
      guard let member = object[field.key], !member.isNull else {
        if field.isOptional { continue }
        return "\(place) is missing or null"
      }
      if let problem = problem(member, field.kind, path: place) { return problem }
    }
    return nil
  }

  private static func problem(_ value: JSONValue, _ kind: Kind, path: String) -> String? {
    let fits: Bool
    switch kind {
    case .anything: fits = true
    case .string: fits = value.string != nil
    case .boolean: fits = value.bool != nil
    case .number, .date: fits = value.double != nil
    case .integer: fits = isWhole(value)
    case .choice(let choices): fits = value.string.map(choices.contains) ?? false
    case .variant(let cases):
      guard let object = value.object, object.count == 1,
        let known = cases.first(where: { object[$0.key] != nil })
      else { return "\(path) is not an object with one case that is known" }
      return problem(value, [known], path: path)
    case .record(let fields): return problem(value, fields, path: path)
    case .list(let element):
      guard let items = value.array else { return "\(path) is not an array" }
      for (index, item) in items.enumerated() {
        if let problem = problem(item, element, path: "\(path)[\(index)]") { return problem }
      }
      fits = true
    }
    return fits ? nil : "\(path) is not of the type \(kind)"
  }

  /// `JSONDecoder` reads 3.0 as an integer, but not 3.5.
  private static func isWhole(_ value: JSONValue) -> Bool {
    if value.int64 != nil { return true }
    guard let number = value.double else { return false }
    return number == number.rounded() && abs(number) < 0x1p53
  }

  /// Paths of dates that look like seconds since 1970, which this struct would show 31 years late.
  func misplacedDates(in value: JSONValue) -> [String] {
    contentState.compactMap { field in
      guard field.kind == .date, let seconds = value[field.key]?.double,
        seconds > 1_400_000_000
      else { return nil }
      return "content-state.\(field.key) looks like seconds since 1970; the app counts from 2001"
    }
  }
}
