import Testing

@testable import Crypto

/// The ways in which one and the same key is pasted into files and environment variables.
private func spelling(_ name: String, of pem: [UInt8]) -> [UInt8] {
  let text = String(decoding: pem, as: UTF8.self)
  let lines = text.split(separator: "\n")
  switch name {
  case "CRLF": return Array(lines.map { $0 + "\r\n" }.joined().utf8)
  case "literal \\n": return Array(lines.joined(separator: "\\n").utf8)
  case "one line": return Array(lines.joined(separator: " ").utf8)
  case "without any break": return Array(lines.joined().utf8)
  case "body only": return Array(lines.dropFirst().dropLast().joined().utf8)
  case "leading spaces": return Array(lines.map { "    " + $0 + "\n" }.joined().utf8)
  case "byte order mark": return [0xEF, 0xBB, 0xBF] + pem
  default: return pem
  }
}

@Suite struct `A private key` {
  @Test(arguments: [
    "LF", "CRLF", "literal \\n", "one line", "without any break", "body only", "leading spaces",
    "byte order mark",
  ])
  func `is read however it was pasted`(name: String) throws {
    let key = try P256PrivateKey.generate()
    let again = try P256PrivateKey(pem: spelling(name, of: key.pkcs8PEM()))
    #expect(try again.publicKey.spkiPEM() == key.publicKey.spkiPEM())
  }

  @Test func `in the older EC form is read too`() throws {
    let key = try P256PrivateKey(pem: KeySamples.sec1)
    #expect(key.publicKey.verifies(try key.signature(of: [1]), of: [1]))
  }

  @Test func `of another kind is named for what it is`() throws {
    let own = try P256PrivateKey.generate()
    let publicPEM = try own.publicKey.spkiPEM()
    expect(.publicKey, for: publicPEM)
    expect(.publicKey, for: spelling("body only", of: publicPEM))
    expect(.wrongAlgorithm("RSA"), for: Array(KeySamples.rsa.utf8))
    expect(.wrongCurve("secp384r1"), for: Array(KeySamples.p384.utf8))
    expect(.encryptedKey, for: Array(KeySamples.encrypted.utf8))
    expect(.encryptedKey, for: spelling("body only", of: Array(KeySamples.encrypted.utf8)))
    expect(.encryptedKey, for: Array(KeySamples.encryptedSEC1.utf8))
    let authority = try CertificateAuthority(
      commonName: "test", validity: .days(1, fromSeconds: 1_790_000_000))
    expect(.certificate, for: try authority.certificatePEM())
    expect(.certificate, for: spelling("body only", of: try authority.certificatePEM()))
  }

  @Test func `with anything behind it is refused`() throws {
    let pem = try P256PrivateKey.generate().pkcs8PEM()
    expect(.trailingBytes(4), for: pem + Array("\nmore".utf8))
    #expect(throws: CryptoError.self) { try P256PrivateKey(pem: pem + pem) }
    let der = try KeyText(pem).der
    expect(.trailingBytes(2), for: Base64.standard.encode(der + [0, 0]))
  }

  @Test func `cut short is refused`() throws {
    let pem = try P256PrivateKey.generate().pkcs8PEM()
    expect(.truncatedPEM(label: "PRIVATE KEY"), for: Array(pem.dropLast(20)))
    expect(.notAKey(found: "it is empty"), for: Array(" \n".utf8))
    let der = try KeyText(pem).der
    expect(.damagedKey(bytes: 40), for: Base64.standard.encode(der.prefix(40)))
    #expect(throws: CryptoError.self) { try P256PrivateKey(pem: "secret.p8") }
  }

  @Test func `never shows in a message`() throws {
    let pem = try P256PrivateKey.generate().pkcs8PEM()
    let body = Array(spelling("body only", of: pem))
    for damage in [Array(pem.dropLast(30)), pem + [65], Array(body.dropLast(4)), [45] + body] {
      do {
        _ = try P256PrivateKey(pem: damage)
        Issue.record("a damaged key was accepted")
      } catch {
        let secret = String(decoding: body[20..<32], as: UTF8.self)
        #expect(!"\(error)".contains(secret))
      }
    }
  }

  @Test func `signs what its public key verifies, in both forms`() throws {
    let key = try P256PrivateKey.generate()
    let other = try P256PrivateKey.generate().publicKey
    let publicKey = try P256PublicKey(pem: key.publicKey.spkiPEM())
    let message = Array("eyJ.eyJ".utf8)
    for _ in 0..<400 {
      let signature = try key.signature(of: message)
      #expect(signature.raw.count == 64)
      #expect(publicKey.verifies(rawOrDER: signature.raw, of: message))
      #expect(publicKey.verifies(rawOrDER: signature.der, of: message))
      #expect(ECDSASignature(der: signature.der) == signature)
    }
    let signature = try key.signature(of: message)
    #expect(!publicKey.verifies(signature, of: message + [0]))
    #expect(!other.verifies(signature, of: message))
    #expect(!publicKey.verifies(rawOrDER: [], of: message))
    #expect(!publicKey.verifies(rawOrDER: [UInt8](repeating: 0, count: 64), of: message))
  }

  private func expect(
    _ expected: CryptoError, for pem: [UInt8], at location: SourceLocation = #_sourceLocation
  ) {
    #expect(throws: expected, sourceLocation: location) { try P256PrivateKey(pem: pem) }
  }
}

@Suite struct `A signature` {
  @Test func `pads a short half and keeps a high bit positive`() throws {
    let raw = [0, 0] + [UInt8](repeating: 7, count: 30) + [UInt8](repeating: 0xFF, count: 32)
    let signature = try #require(ECDSASignature(raw: raw))
    #expect(signature.der.count == 2 + 2 + 30 + 2 + 33)
    #expect(ECDSASignature(der: signature.der)?.raw == raw)
  }

  @Test func `of a wrong shape is none`() throws {
    let good = try #require(ECDSASignature(raw: [UInt8](repeating: 1, count: 64))).der
    #expect(ECDSASignature(der: good) != nil)
    #expect(ECDSASignature(der: good + [0]) == nil)
    #expect(ECDSASignature(der: Array(good.dropLast())) == nil)
    for index in 0..<4 {
      var damaged = good
      damaged[index] &+= 1
      #expect(ECDSASignature(der: damaged) == nil, "byte \(index)")
    }
    #expect(ECDSASignature(raw: [1, 2, 3]) == nil)
  }
}
