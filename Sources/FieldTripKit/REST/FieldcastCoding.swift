public import Foundation

/// How requests and replies are written as JSON.
public enum FieldcastCoding {
  /// Dates become RFC 3339 text in whole seconds; what is nil is left out.
  public static func encode(_ request: some Encodable) throws -> Data {
    let encoder = JSONEncoder()
    encoder.dateEncodingStrategy = .iso8601
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    return try encoder.encode(request)
  }

  /// Takes dates as text, with or without a fraction, and as seconds since 1970.
  public static func decode<Reply: Decodable>(_ reply: Reply.Type, from data: Data) throws -> Reply
  {
    let decoder = JSONDecoder()
    decoder.dateDecodingStrategy = .custom { decoder in
      let container = try decoder.singleValueContainer()
      if let seconds = try? container.decode(Double.self) {
        return Date(timeIntervalSince1970: seconds)
      }
      let text = try container.decode(String.self)
      guard let date = date(text) else {
        throw DecodingError.dataCorruptedError(
          in: container, debugDescription: "\(text.debugDescription) is not a date.")
      }
      return date
    }
    return try decoder.decode(reply, from: data)
  }

  private static func date(_ text: String) -> Date? {
    let whole = Date.ISO8601FormatStyle()
    let fraction = Date.ISO8601FormatStyle(includingFractionalSeconds: true)
    return (try? whole.parse(text)) ?? (try? fraction.parse(text))
  }
}
