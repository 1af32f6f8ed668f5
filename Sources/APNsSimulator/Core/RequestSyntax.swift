/// The shapes of header values.
enum RequestSyntax {
  /// Canonical 8-4-4-4-12, lower case.
  static func isUUID(_ text: String) -> Bool {
    let bytes = text.utf8
    guard bytes.count == 36 else { return false }
    for (index, byte) in bytes.enumerated() {
      let isDash = index == 8 || index == 13 || index == 18 || index == 23
      if isDash ? byte != UInt8(ascii: "-") : !isLowerHexadecimal(byte) { return false }
    }
    return true
  }

  static func isLowerHexadecimal(_ byte: UInt8) -> Bool {
    (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
      || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains(byte)
  }

  /// Seconds since 1970 as plain digits; nil for anything else, a fraction or a sign among it.
  static func epochSeconds(_ text: String) -> Int64? {
    guard !text.isEmpty, text.utf8.count < 19,
      text.utf8.allSatisfy({ $0 >= UInt8(ascii: "0") && $0 <= UInt8(ascii: "9") })
    else { return nil }
    return Int64(text)
  }

  /// 10, 5 or 1, written just so.
  static func priority(_ text: String) -> Int? {
    switch text {
    case "10": 10
    case "5": 5
    case "1": 1
    default: nil
    }
  }

  /// Whether the body was compressed, which APNs forbids.
  static func isCompressed(_ request: SimulatedRequest) -> Bool {
    guard let coding = request.value("content-encoding") else { return false }
    return coding != "identity"
  }
}
