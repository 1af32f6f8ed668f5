import Testing

@testable import Transport

@Suite struct `An IP address` {
  @Test(arguments: [
    "8.8.8.8", "1.1.1.1", "100.63.255.255", "100.128.0.1", "172.15.0.1", "172.32.0.1",
    "192.0.1.1", "168.63.129.17", "2606:4700::1111", "2a00:1450:4001::8", "::ffff:8.8.8.8",
    "64:ff9b::8.8.8.8",
  ])
  func `of the Internet at large is public`(text: String) throws {
    #expect(try #require(IPAddress(text)).isPublic)
  }

  @Test(arguments: [
    // This machine, this network, private networks.
    "0.0.0.0", "0.1.2.3", "127.0.0.1", "127.255.255.254", "10.0.0.1", "172.16.0.1",
    "172.31.255.255", "192.168.1.1", "100.64.0.1", "100.100.100.200",
    // Link-local, and where clouds keep a machine's credentials.
    "169.254.0.1", "169.254.169.254", "192.0.0.192", "168.63.129.16", "fd00:ec2::254",
    // Documentation, benchmarks, relays, multicast, reserved, broadcast.
    "192.0.2.1", "198.51.100.7", "203.0.113.9", "198.18.0.1", "198.19.255.255", "192.88.99.1",
    "224.0.0.1", "239.255.255.250", "240.0.0.1", "255.255.255.255",
    // The same in IPv6.
    "::", "::1", "fe80::1", "febf::1", "fec0::1", "fc00::1", "fdff::1", "ff02::1", "2001:db8::1",
    "100::1", "3fff::1", "5f00::1",
    // IPv4 addresses in disguise: mapped, compatible, 6to4, Teredo, gateways.
    "::ffff:127.0.0.1", "::ffff:7f00:1", "::ffff:169.254.169.254", "::ffff:10.1.2.3",
    "::127.0.0.1", "::7f00:1", "::ffff:0:127.0.0.1", "2002:7f00:1::", "2002:a00:1::1",
    "2001::1", "2001:0:7f00:1::", "64:ff9b::127.0.0.1", "64:ff9b::a9fe:a9fe", "64:ff9b:1::8.8.8.8",
  ])
  func `that is private or special is not`(text: String) throws {
    #expect(!(try #require(IPAddress(text)).isPublic))
  }

  @Test(arguments: ["", "1.2.3", "127.1", "0177.0.0.1", "0x7f.0.0.1", "1.2.3.4.5", "::1%lo", "a"])
  func `has one form`(text: String) { #expect(IPAddress(text) == nil) }

  @Test func `in a mapped form is the one that is reached`() throws {
    #expect(IPAddress("::ffff:10.0.0.1") == IPAddress("10.0.0.1"))
    #expect(try #require(IPAddress("::ffff:10.0.0.1")).description == "10.0.0.1")
    #expect(try #require(IPAddress("2001:DB8:0::1")).description == "2001:db8::1")
  }

  @Test(arguments: [
    ("10.0.0.0/8", "10.255.0.1", true), ("10.0.0.0/8", "11.0.0.0", false),
    ("127.0.0.1", "127.0.0.1", true), ("127.0.0.1", "127.0.0.2", false),
    ("192.168.4.0/22", "192.168.7.255", true), ("192.168.4.0/22", "192.168.8.0", false),
    ("0.0.0.0/0", "8.8.8.8", true), ("::/0", "8.8.8.8", false), ("fd00::/8", "fd12::1", true),
    ("::ffff:10.0.0.1", "10.0.0.1", true),
  ])
  func `is in a range by its first bits`(range: String, address: String, isIn: Bool) throws {
    #expect(try #require(IPRange(range)).contains(try #require(IPAddress(address))) == isIn)
  }

  @Test(arguments: ["", "10.0.0.0/33", "10.0.0.0/-1", "10.0.0.0/8/8", "10.0.0.0/", "x/8"])
  func `range that makes no sense is none`(text: String) { #expect(IPRange(text) == nil) }
}
