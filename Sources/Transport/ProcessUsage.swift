internal import Glibc

/// What a process has used, by the kernel's own books in `/proc`.
package struct ProcessUsage: Sendable, Equatable {
  /// User and system time of all threads since it began.
  package var cpuSeconds = 0.0
  /// Memory of it that is in RAM now.
  package var residentBytes = 0
  /// The most that ever was.
  package var peakResidentBytes = 0

  package init() {}

  /// Of the process that asks; nil where `/proc` is not there.
  package static var ofThisProcess: ProcessUsage? { read(getpid()) }

  /// - Returns: nil when there is no such process, or none that we may look at.
  package static func read(_ processID: Int32) -> ProcessUsage? {
    guard let stat = text(of: "/proc/\(processID)/stat"),
      let status = text(of: "/proc/\(processID)/status"),
      // The name of the program stands in brackets and may hold anything, brackets too.
      let nameEnd = stat.lastIndex(of: ")")
    else { return nil }
    let fields = stat[nameEnd...].split(separator: " ")
    guard fields.count > 13, let user = Double(fields[12]), let system = Double(fields[13]) else {
      return nil
    }
    var usage = ProcessUsage()
    usage.cpuSeconds = (user + system) / Double(sysconf(Int32(_SC_CLK_TCK)))
    usage.residentBytes = kilobytes("VmRSS:", in: status) * 1_024
    usage.peakResidentBytes = kilobytes("VmHWM:", in: status) * 1_024
    return usage
  }

  private static func kilobytes(_ name: String, in status: String) -> Int {
    for line in status.split(separator: "\n") where line.hasPrefix(name) {
      return line.split(whereSeparator: { $0 == " " || $0 == "\t" }).dropFirst().first
        .flatMap { Int($0) } ?? 0
    }
    return 0
  }

  private static func text(of path: String) -> String? {
    guard let file = fopen(path, "r") else { return nil }
    defer { fclose(file) }
    var bytes = [UInt8](repeating: 0, count: 8_192)
    let count = fread(&bytes, 1, bytes.count, file)
    return String(decoding: bytes[..<count], as: UTF8.self)
  }
}
