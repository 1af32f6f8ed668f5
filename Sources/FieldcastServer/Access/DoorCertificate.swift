internal import Clocks
internal import Glibc
internal import HTTP
internal import Transport

/// Where REST's certificate is: a chain, the server's own first, and its private key, as PEM.
package struct CertificateFiles: Sendable {
  package var chain: String
  package var key: String

  package init(chain: String, key: String) {
    self.chain = chain
    self.key = key
  }
}

/// Keeps REST's certificate the one that is in the files: they are looked at every few seconds, and
/// on request. One that cannot be used is reported, and the one before goes on being shown.
struct DoorCertificate: Sendable {
  let files: CertificateFiles
  /// What the files were before they were read first: what comes later is news.
  private let firstStamp: [Int]

  init(files: CertificateFiles) {
    self.files = files
    firstStamp = Self.stamp(of: files)
  }

  /// Certificates are renewed weeks before they end.
  static let pause = Duration.seconds(10)

  /// - Throws: ``StartFailure`` that says which file cannot be used, and why.
  func load() throws(StartFailure) -> TLSServerContext {
    let identity = TLSIdentity(
      certificateChainPEM: try Self.read(files.chain, "certificate"),
      privateKeyPEM: try Self.read(files.key, "private key"))
    do throws(TLSConfigurationError) {
      return try TLSServerContext(identity: identity, alpn: ["http/1.1"])
    } catch {
      throw StartFailure(
        "REST cannot be served with the certificate \(files.chain) and the key \(files.key): "
          + "\(error)")
    }
  }

  /// Shows what is in the files now.
  func reload(into server: HTTPServer, log: ServiceLog) {
    do throws(StartFailure) {
      server.use(try load())
      log.info("shows the certificate that is in its file now", ["file": files.chain])
    } catch {
      log.error(
        "the new certificate cannot be used; the one before is shown on",
        ["reason": error.description])
    }
  }

  /// Looks at the files until the task is cancelled.
  func watch(for server: HTTPServer, log: ServiceLog, on loop: EventLoop) async {
    var seen = firstStamp
    while (try? await loop.sleep(for: Self.pause)) != nil {
      let now = Self.stamp(of: files)
      guard now != seen else { continue }
      seen = now
      reload(into: server, log: log)
    }
  }

  /// Changes when a file is written, or another one is put in its place.
  private static func stamp(of files: CertificateFiles) -> [Int] {
    [files.chain, files.key].flatMap { path -> [Int] in
      var facts = Glibc.stat()
      guard stat(path, &facts) == 0 else { return [] }
      return [
        Int(facts.st_ino), Int(facts.st_size), facts.st_mtim.tv_sec, facts.st_mtim.tv_nsec,
      ]
    }
  }

  private static func read(_ path: String, _ what: String) throws(StartFailure) -> [UInt8] {
    guard let bytes = SmallFile.read(path, limit: 1 << 20) else {
      throw StartFailure("The \(what) \(path) cannot be read: \(SystemError.text(of: errno)).")
    }
    return bytes
  }
}

/// A file that is read whole.
enum SmallFile {
  /// - Returns: at most `limit` bytes; nil with `errno` set when it cannot be read.
  static func read(_ path: String, limit: Int) -> [UInt8]? {
    guard let file = fopen(path, "re") else { return nil }
    defer { fclose(file) }
    var bytes = [UInt8](repeating: 0, count: limit)
    let count = fread(&bytes, 1, limit, file)
    return ferror(file) == 0 ? Array(bytes[..<count]) : nil
  }
}
