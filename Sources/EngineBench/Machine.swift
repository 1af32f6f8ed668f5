import Glibc

/// What a figure depends on beside the programs.
enum Machine {
  static var processors: Int { Int(sysconf(Int32(_SC_NPROCESSORS_ONLN))) }

  /// The mean number of tasks that wanted to run in the last minute.
  static var load: Double {
    Scratch.read("/proc/loadavg")?.split(separator: " ").first.flatMap { Double($0) } ?? 0
  }

  /// The processor's name and how many there are.
  static var description: String {
    let lines = Scratch.read("/proc/cpuinfo")?.split(separator: "\n") ?? []
    let name = lines.first { $0.hasPrefix("model name") }?.split(separator: ":").last
    return "\(processors) × \(name.map { String($0.drop { $0 == " " }) } ?? "unknown processor")"
  }
}
