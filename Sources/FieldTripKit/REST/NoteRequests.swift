public import Foundation

/// `POST /v1/trips/{trip}/notes`: a note was captured.
public struct CapturedNote: Codable, Hashable, Sendable {
  /// Your own ID of the note, 1 to 128 bytes: sent twice, it counts once. So it is made once, with
  /// the note, and stays with it until the service has it.
  public let id: String
  public var member: String?
  public var place: String?
  public var capturedAt: Date?
  /// Shown at once, ahead of the publisher's better moment. Keep these rare.
  public var significant: Bool?
  /// The note's place among all of the trip's, if something counts them.
  public var sequence: Int?
  /// What your own kind of card takes from a note.
  public var fields: [String: FieldValue]?

  public init(
    id: String = UUID().uuidString, member: String? = nil, place: String? = nil,
    capturedAt: Date? = Date(), significant: Bool? = nil, sequence: Int? = nil,
    fields: [String: FieldValue]? = nil
  ) {
    self.id = id
    self.member = member
    self.place = place
    self.capturedAt = capturedAt
    self.significant = significant
    self.sequence = sequence
    self.fields = fields
  }
}

/// `POST /v1/trips/{trip}/notes`: the trip is in another phase, such as `answered` or `finished`.
public struct PhaseChange: Encodable, Hashable, Sendable {
  /// As of ``CapturedNote``.
  public let id: String
  public let kind = "phase"
  public var phase: String
  public var fields: [String: FieldValue]?
  public var occurredAt: Date?
  public var sequence: Int?

  public init(
    id: String = UUID().uuidString, phase: some OpenValue, fields: [String: FieldValue]? = nil,
    occurredAt: Date? = nil, sequence: Int? = nil
  ) {
    self.id = id
    self.phase = phase.rawValue
    self.fields = fields
    self.occurredAt = occurredAt
    self.sequence = sequence
  }
}

/// A value of a field that only its kind of card knows.
public enum FieldValue: Codable, Hashable, Sendable {
  case string(String)
  case integer(Int)
  case number(Double)
  case bool(Bool)
  case list([FieldValue])
  case object([String: FieldValue])

  public init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    if let bool = try? container.decode(Bool.self) {
      self = .bool(bool)
    } else if let integer = try? container.decode(Int.self) {
      self = .integer(integer)
    } else if let number = try? container.decode(Double.self) {
      self = .number(number)
    } else if let text = try? container.decode(String.self) {
      self = .string(text)
    } else if let list = try? container.decode([FieldValue].self) {
      self = .list(list)
    } else {
      self = .object(try container.decode([String: FieldValue].self))
    }
  }

  public func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    switch self {
    case .string(let text): try container.encode(text)
    case .integer(let integer): try container.encode(integer)
    case .number(let number): try container.encode(number)
    case .bool(let bool): try container.encode(bool)
    case .list(let list): try container.encode(list)
    case .object(let object): try container.encode(object)
    }
  }
}
