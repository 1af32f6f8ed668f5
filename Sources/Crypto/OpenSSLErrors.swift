import COpenSSL

/// OpenSSL keeps errors in a queue per thread; what one call leaves there misleads the next one.
enum OpenSSLErrors {
  /// The oldest error as text, and an empty queue afterwards.
  static func take(_ operation: String) -> CryptoError {
    .openSSL(operation: operation, detail: detail())
  }

  /// The oldest error's words, and an empty queue afterwards.
  static func detail() -> String {
    let code = ERR_peek_error()
    ERR_clear_error()
    guard code != 0 else { return "no reason given" }
    var text = [CChar](repeating: 0, count: 256)
    ERR_error_string_n(code, &text, text.count)
    let bytes = text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }
    return String(decoding: bytes, as: UTF8.self)
  }

  static func clear() { ERR_clear_error() }
}

/// A growing buffer of OpenSSL's, for functions that write PEM.
final class MemoryBIO {
  let pointer: OpaquePointer

  init() throws(CryptoError) {
    guard let pointer = BIO_new(BIO_s_mem()) else { throw OpenSSLErrors.take("make a buffer") }
    self.pointer = pointer
  }

  deinit { BIO_free(pointer) }

  var bytes: [UInt8] {
    var start: UnsafeMutablePointer<CChar>?
    let count = copenssl_bio_data(pointer, &start)
    guard let start, count > 0 else { return [] }
    return UnsafeRawBufferPointer(start: start, count: count).map { $0 }
  }
}
