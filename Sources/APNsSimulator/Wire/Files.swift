internal import Glibc

/// The little that the simulator does with files.
enum Files {
  static func makeFolder(_ path: String) throws(SimulatorStartError) {
    guard mkdir(path, 0o755) != 0, errno != EEXIST else { return }
    throw .file(path: path, problem: String(cString: strerror(errno)))
  }

  /// Replaces the file in one step, so that nobody reads half of it.
  static func write(
    _ bytes: [UInt8], to path: String, mode: UInt32
  ) throws(SimulatorStartError) {
    let temporary = path + ".new"
    let descriptor = open(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode)
    guard descriptor >= 0 else {
      throw .file(path: temporary, problem: String(cString: strerror(errno)))
    }
    let written = bytes.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
    let problem = String(cString: strerror(errno))
    close(descriptor)
    guard written == bytes.count, rename(temporary, path) == 0 else {
      throw .file(path: path, problem: problem)
    }
  }
}
