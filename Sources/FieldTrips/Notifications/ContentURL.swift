/// The address of a content source: `https`, a host by name, and no credentials in it.
package struct ContentURL: Sendable, Hashable {
  /// In lower case.
  package let host: String
  package let port: Int
  /// With the query; begins with a slash.
  package let path: String

  package init(_ text: String) throws(IdentifierError) {
    guard text.utf8.count <= 2_048, text.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else {
      throw IdentifierError("Expected a URL of at most 2048 ASCII characters, without blanks.")
    }
    guard text.lowercased().hasPrefix("https://") else {
      throw IdentifierError("\(quoted(text)) does not begin with https://.")
    }
    let rest = text.dropFirst(8)
    let end = rest.firstIndex { "/?#\\".contains($0) } ?? rest.endIndex
    let authority = rest[..<end]
    let tail = rest[end...]
    guard !authority.contains("@") else {
      throw IdentifierError(
        "A URL with a user or password is not taken: tokens belong in the service's settings.")
    }
    guard !tail.contains("#"), !tail.contains("\\") else {
      throw IdentifierError("The URL has a fragment or a backslash, which no request carries.")
    }
    let parts = authority.split(separator: ":", omittingEmptySubsequences: false)
    guard parts.count <= 2, let port = parts.count == 2 ? Int(parts[1]) : 443,
      (1...65_535).contains(port), parts.count == 1 || parts[1].allSatisfy(\.isNumber)
    else { throw IdentifierError("\(quoted(authority)) is not a host with an optional port.") }
    host = parts[0].lowercased()
    guard Self.isName(host) else {
      throw IdentifierError(
        "\(quoted(host)) is not the name of a host. Addresses as numbers are not taken.")
    }
    self.port = port
    path = tail.hasPrefix("/") ? String(tail) : "/" + tail
  }

  /// The host, and its port where it is not 443.
  package var authority: String { port == 443 ? host : "\(host):\(port)" }

  /// The path of a page.
  ///
  /// - Parameter cursor: where to go on; nil for the beginning.
  package func page(after cursor: String?, limit: Int) -> String {
    var query = "limit=\(limit)"
    if let cursor { query = "after=" + Self.escaped(cursor) + "&" + query }
    return path + (path.contains("?") ? "&" : "?") + query
  }

  /// Labels of letters, digits and hyphens, the last of them not a number: `1.2.3.4`, `127.1` and
  /// `0x7f000001` are addresses to some resolvers.
  package static func isName(_ host: String) -> Bool {
    let labels = host.split(separator: ".", omittingEmptySubsequences: false)
    guard host.utf8.count <= 253, let last = labels.last else { return false }
    let areNames = labels.allSatisfy { label in
      (1...63).contains(label.utf8.count) && label.first != "-" && label.last != "-"
        && label.utf8.allSatisfy {
          (UInt8(ascii: "a")...UInt8(ascii: "z")).contains($0)
            || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) || $0 == UInt8(ascii: "-")
        }
    }
    return areNames && last.utf8.first.map { $0 >= UInt8(ascii: "a") } == true
  }

  private static func escaped(_ text: String) -> String {
    var output = ""
    for byte in text.utf8 {
      switch byte {
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
        UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"),
        UInt8(ascii: "."), UInt8(ascii: "~"):
        output.unicodeScalars.append(Unicode.Scalar(byte))
      default:
        let digits = String(byte, radix: 16, uppercase: true)
        output += "%" + (digits.count == 1 ? "0" : "") + digits
      }
    }
    return output
  }
}
