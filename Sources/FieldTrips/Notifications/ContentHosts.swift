package import JSON

/// Which hosts content may be fetched from, and how.
package struct ContentHosts: Sendable, Hashable {
  package struct Host: Sendable, Hashable {
    /// In lower case.
    package let name: String
    package let port: Int
    /// Bearer tokens, used by turns; none for a host that asks for none.
    package let tokens: [String]

    package init(name: String, port: Int, tokens: [String]) {
      self.name = name
      self.port = port
      self.tokens = tokens
    }
  }

  package let hosts: [Host]
  /// Addresses and ranges that may be connected to though they are private, as text: `10.1.0.0/16`.
  package let addresses: [String]
  /// PEM file of authorities to trust beside the machine's own.
  package let trustFile: String?

  package init(hosts: [Host], addresses: [String], trustFile: String?) {
    self.hosts = hosts
    self.addresses = addresses
    self.trustFile = trustFile
  }

  package static let none = ContentHosts(hosts: [], addresses: [], trustFile: nil)

  package func host(of url: ContentURL) -> Host? {
    hosts.first { $0.name == url.host && $0.port == url.port }
  }

  /// Reads `{"hosts": [{"host", "port"?, "tokens"?}], "privateAddresses"?, "trustFile"?}`.
  package static func read(_ value: JSONValue) throws(Refusal) -> ContentHosts {
    var reader = ObjectReader(value)
    var hosts: [Host] = []
    var problems: [Problem] = []
    let list = reader.value("hosts", isRequired: true)?.array ?? []
    for (index, entry) in list.enumerated() {
      var inner = ObjectReader(entry, at: "/hosts/\(index)")
      if let host = readHost(&inner) { hosts.append(host) }
      problems += inner.finish()
    }
    if list.isEmpty { reader.add(.missingField, "hosts", "Name at least one host.") }
    let addresses = reader.strings("privateAddresses") ?? []
    let trustFile = reader.string("trustFile", bytes: 1...4_096)
    problems += reader.finish()
    if let refusal = Refusal(problems) { throw refusal }
    return ContentHosts(hosts: hosts, addresses: addresses, trustFile: trustFile)
  }

  private static func readHost(_ reader: inout ObjectReader) -> Host? {
    let name = reader.string("host", isRequired: true, bytes: 1...253)?.lowercased()
    let port = reader.integer("port", in: 1...65_535) ?? 443
    let tokens = reader.strings("tokens") ?? []
    if let name, !ContentURL.isName(name) {
      reader.add(.badValue, "host", "\(quoted(name)) is not the name of a host.")
    }
    // It travels in a header field.
    let areUsable = tokens.allSatisfy { token in
      (1...4_096).contains(token.utf8.count)
        && token.utf8.allSatisfy { (0x21...0x7E).contains($0) }
    }
    if !areUsable {
      reader.add(.badValue, "tokens", "A token is 1 to 4096 ASCII characters without blanks.")
    }
    return name.map { Host(name: $0, port: Int(port), tokens: tokens) }
  }
}
