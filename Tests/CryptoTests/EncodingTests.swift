import Crypto
import Testing

@Suite struct `Base64 text` {
  @Test(arguments: [
    ("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg=="),
    ("fooba", "Zm9vYmE="), ("foobar", "Zm9vYmFy"),
  ])
  func `has the vectors of RFC 4648`(plain: String, coded: String) {
    #expect(Base64.standard.encodeText(Array(plain.utf8)) == coded)
    #expect(Base64.standard.decode(coded) == Array(plain.utf8))
    let unpadded = coded.filter { $0 != "=" }
    #expect(Base64.url.encodeText(Array(plain.utf8)) == unpadded)
    #expect(Base64.url.decode(unpadded) == Array(plain.utf8))
  }

  @Test func `keeps its alphabets apart`() {
    #expect(Base64.standard.encodeText([0xFB, 0xFF]) == "+/8=")
    #expect(Base64.url.encodeText([0xFB, 0xFF]) == "-_8")
    #expect(Base64.standard.decode("-_8=") == nil)
    #expect(Base64.url.decode("+/8") == nil)
    #expect(Base64.url.decode("-_8=") == nil)
  }

  @Test(arguments: ["Zg", "Zg=", "Zg===", "Zh==", "Zm9=", "Z", "Zm9v\n", " Zm9v", "Zg==Zg==", "="])
  func `refuses what it would never write`(text: String) {
    #expect(Base64.standard.decode(text) == nil)
  }

  @Test func `brings back any bytes`() {
    for count in 0..<70 {
      let bytes = RandomBytes.make(count)
      #expect(Base64.standard.decode(Base64.standard.encode(bytes)) == bytes)
      #expect(Base64.url.decode(Base64.url.encode(bytes)) == bytes)
      #expect(Hexadecimal.decode(Hexadecimal.encode(bytes).utf8) == bytes)
    }
  }
}

@Suite struct `Hexadecimal text` {
  @Test func `is written in lower case and read in both`() {
    #expect(Hexadecimal.encode([0, 0x9F, 0xAB]) == "009fab")
    #expect(Hexadecimal.decode("009FaB".utf8) == [0, 0x9F, 0xAB])
    #expect(Hexadecimal.decode("0".utf8) == nil)
    #expect(Hexadecimal.decode("0g".utf8) == nil)
  }
}

@Suite struct `Digests` {
  @Test func `have their published values`() {
    #expect(
      Hexadecimal.encode(Digest.sha256(Array("abc".utf8)))
        == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad")
    #expect(
      Hexadecimal.encode(Digest.sha256([]))
        == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855")
    // RFC 4231, case 2.
    #expect(
      Hexadecimal.encode(
        Digest.hmacSHA256(Array("what do ya want for nothing?".utf8), key: Array("Jefe".utf8)))
        == "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843")
  }

  @Test func `are compared whole`() {
    #expect(Digest.isEqual([1, 2], [1, 2]))
    #expect(!Digest.isEqual([1, 2], [1, 3]))
    #expect(!Digest.isEqual([1, 2], [1]))
    #expect(Digest.isEqual([], []))
  }
}
