internal import Crypto
internal import FieldTrips

extension TripID {
  /// A new one, from the system's cryptographic generator.
  static func random() -> TripID {
    var generator = SystemRandomNumberGenerator()
    return TripID(using: &generator)
  }

  /// One that follows from a text, so that the same text has the same.
  init(digestOf text: String) {
    let digest = Digest.sha256(Array(text.utf8))
    var bytes = InlineArray<16, UInt8>(repeating: 0)
    for index in 0..<16 { bytes[index] = digest[index] }
    self.init(randomBytes: bytes)
  }
}

enum UUIDText {
  /// A random UUID in its canonical form, as APNs wants request IDs.
  static func random() -> String { TripID.random().text }
}

enum SHA256Text {
  /// The digest in hexadecimal digits.
  static func of(_ bytes: [UInt8]) -> String { Hexadecimal.encode(Digest.sha256(bytes)) }
}

extension TriggerID {
  /// An ID that the service itself gives.
  init(wellKnown text: String) {
    do throws(IdentifierError) {
      self = try TriggerID(text)
    } catch {
      preconditionFailure("\(text) is no trigger ID: \(error)")
    }
  }
}
