package import FieldTrips
internal import Glibc

/// Finds and reads traces on disk.
package enum TraceFiles {
  /// A bioblitz of 100,000 captures has about 3 MB, a large export with all columns a few hundred;
  /// what is larger is another file than meant.
  package static let maxBytes = 512 << 20

  /// The trace to replay: the one asked for, else the shortest event of a folder of traces, else
  /// an invented outing.
  ///
  /// - Parameters:
  ///   - wanted: a file, or the name of one in `folder` or its beginning (`heron`).
  ///   - folder: a folder of traces, or one trace's file.
  package static func choose(
    _ wanted: String?, folder: String?
  ) throws(TraceFileError) -> CaptureTrace {
    if let wanted { return try load(find(wanted, folder: folder)) }
    guard let folder else { return TraceGenerator.trace(.outing, seed: 1) }
    guard isFolder(folder) else { return try load(folder) }
    var shortest: CaptureTrace?
    for path in try traces(in: folder) {
      let trace = try load(path)
      if trace.durationSeconds < shortest?.durationSeconds ?? .infinity { shortest = trace }
    }
    guard let shortest else { throw .emptyFolder(folder) }
    return shortest
  }

  /// The trace in a file, or all those in a folder.
  package static func all(at path: String) throws(TraceFileError) -> [CaptureTrace] {
    guard isFolder(path) else { return [try load(path)] }
    var found: [CaptureTrace] = []
    for file in try traces(in: path) { found.append(try load(file)) }
    guard !found.isEmpty else { throw .emptyFolder(path) }
    return found
  }

  /// Reads a trace, or an iNaturalist export, of which the busiest day is taken.
  package static func load(_ path: String) throws(TraceFileError) -> CaptureTrace {
    let bytes = try read(path)
    do {
      if INaturalistImport.recognizes(csv: bytes) { return try INaturalistImport(csv: bytes).trace }
      return try CaptureTrace.parse(csv: bytes, name: name(of: path))
    } catch {
      throw .notATrace(path: path, error)
    }
  }

  /// The whole content of a file; `-` is the standard input.
  package static func read(_ path: String) throws(TraceFileError) -> [UInt8] {
    let descriptor = path == "-" ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { throw .cannotRead(path: path, reason: reason(errno)) }
    defer { if descriptor != STDIN_FILENO { close(descriptor) } }
    var bytes: [UInt8] = []
    var chunk = [UInt8](repeating: 0, count: 1 << 16)
    while true {
      let count = Glibc.read(descriptor, &chunk, chunk.count)
      if count == 0 { return bytes }
      if count < 0 {
        if errno == EINTR { continue }
        throw .cannotRead(path: path, reason: reason(errno))
      }
      bytes += chunk[..<count]
      guard bytes.count <= maxBytes else { throw .tooLarge(path: path, limitBytes: maxBytes) }
    }
  }

  /// The CSV files of a folder, sorted by name.
  package static func traces(in folder: String) throws(TraceFileError) -> [String] {
    guard let directory = opendir(folder) else {
      throw .cannotRead(path: folder, reason: reason(errno))
    }
    defer { closedir(directory) }
    var names: [String] = []
    while let entry = readdir(directory) {
      let name = withUnsafePointer(to: &entry.pointee.d_name) {
        $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
      }
      if name.hasSuffix(".csv"), !name.hasPrefix(".") { names.append(name) }
    }
    return names.sorted().map { folder + "/" + $0 }
  }

  private static func find(
    _ wanted: String, folder: String?
  ) throws(TraceFileError) -> String {
    if wanted == "-" || access(wanted, F_OK) == 0 { return wanted }
    let reason = reason(errno)
    guard let folder, isFolder(folder) else { throw .cannotRead(path: wanted, reason: reason) }
    let known = try traces(in: folder)
    if let exact = known.first(where: { name(of: $0) == wanted }) { return exact }
    let matching = known.filter { name(of: $0).hasPrefix(wanted) }
    guard matching.count == 1 else {
      throw .notInFolder(wanted, folder: folder, names: known.map(name(of:)))
    }
    return matching[0]
  }

  private static func isFolder(_ path: String) -> Bool {
    var status = stat()
    return stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFDIR
  }

  private static func name(of path: String) -> String {
    if path == "-" { return "standard input" }
    let file = path.split(separator: "/").last.map(String.init) ?? path
    return file.hasSuffix(".csv") ? String(file.dropLast(4)) : file
  }

  private static func reason(_ code: Int32) -> String { String(cString: strerror(code)) }
}

/// Why there is no trace to replay.
package enum TraceFileError: Error, CustomStringConvertible {
  case cannotRead(path: String, reason: String)
  case tooLarge(path: String, limitBytes: Int)
  case notATrace(path: String, TraceError)
  case notInFolder(String, folder: String, names: [String])
  case emptyFolder(String)

  package var description: String {
    switch self {
    case .cannotRead(let path, let reason): return "\(path) cannot be read: \(reason)."
    case .tooLarge(let path, let limit):
      return "\(path) has more than \(limit >> 20) MB; that is no trace."
    case .notATrace(let path, let error): return "\(path) is no trace. \(error)"
    case .notInFolder(let wanted, let folder, let names):
      let list = names.isEmpty ? "no trace" : names.joined(separator: ", ")
      return "No file is called \(wanted), and \(folder) has \(list)."
    case .emptyFolder(let folder): return "\(folder) has no trace: no file ends in .csv."
    }
  }
}
