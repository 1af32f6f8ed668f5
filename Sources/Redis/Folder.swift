internal import Glibc

/// The few things that a private server needs of the file system.
enum Folder {
  static let processIDFile = "redis.pid"

  /// Makes a folder that only this user can enter, and its parents as usual.
  static func make(_ path: String) throws(PrivateRedisError) {
    try makeOne(path, mode: 0o700)
    guard access(path, W_OK | X_OK) == 0 else { throw failure(path) }
  }

  private static func makeOne(_ path: String, mode: mode_t) throws(PrivateRedisError) {
    if mkdir(path, mode) == 0 || errno == EEXIST { return }
    guard errno == ENOENT, let slash = path.lastIndex(of: "/"), slash > path.startIndex else {
      throw failure(path)
    }
    try makeOne(String(path[..<slash]), mode: 0o755)
    guard mkdir(path, mode) == 0 || errno == EEXIST else { throw failure(path) }
  }

  private static func failure(_ path: String) -> PrivateRedisError {
    .cannotStart("The data folder \(path) cannot be used: \(String(cString: strerror(errno))).")
  }

  /// The process that runs in this folder according to its process ID file; nil when that process
  /// is gone, or has its number from a process that is.
  static func servingProcess(of folder: String) -> Int32? {
    guard let text = contents(of: folder + "/" + processIDFile, atMost: 32),
      let processID = Int32(text.prefix { $0.isNumber }), processID > 0,
      let its = resolved("/proc/\(processID)/cwd"), let ours = resolved(folder), its == ours
    else { return nil }
    return processID
  }

  /// The last line of a log that says something, for an error message.
  static func lastLine(of path: String) -> String {
    let lines = (contents(of: path, atMost: 4096) ?? "").split(separator: "\n")
    return lines.last { !$0.isEmpty }.map { String($0) } ?? "(it is empty)"
  }

  /// The end of a file, as text.
  private static func contents(of path: String, atMost limit: Int) -> String? {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { return nil }
    defer { close(descriptor) }
    let size = Int(lseek(descriptor, 0, SEEK_END))
    lseek(descriptor, off_t(max(0, size - limit)), SEEK_SET)
    var bytes = [UInt8](repeating: 0, count: limit)
    let count = read(descriptor, &bytes, limit)
    return count < 0 ? nil : String(decoding: bytes[..<count], as: UTF8.self)
  }

  private static func resolved(_ path: String) -> String? {
    guard let pointer = realpath(path, nil) else { return nil }
    defer { free(pointer) }
    return String(cString: pointer)
  }
}
