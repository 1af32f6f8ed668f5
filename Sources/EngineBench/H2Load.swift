import Transport

/// nghttp2's load generator: how it is called, and what it says.
enum H2Load {
  /// What it counted in one run.
  struct Summary: Equatable {
    var succeeded: Int
    /// From its start to its end, the making of its connection included.
    var perSecond: Double
  }

  static func executable() throws(BenchFailure) -> String {
    guard let path = Subprocess.executable(named: "h2load") else {
      throw BenchFailure(
        "h2load is not installed. It is in the package nghttp2-client: "
          + "apt-get install nghttp2-client")
    }
    return path
  }

  /// - Parameters:
  ///   - urls: a file with the URL of each token in a line, taken by turns.
  ///   - body: a file.
  static func arguments(
    _ workload: Workload, urls: String, body: String, fields: [String]
  ) -> [String] {
    var arguments = [
      "-c", "1", "-t", "1", "-m", "\(workload.width)", "-n", "\(workload.requests)", "-d", body,
      "-i", urls,
    ]
    if case .perSecond(let rate) = workload.demand { arguments += ["--rps", "\(rate)"] }
    return arguments + fields.flatMap { ["-H", $0] }
  }

  /// Reads the last lines of its output.
  ///
  /// - Returns: nil when they are not there: it did not come to its end.
  static func summary(of output: String) -> Summary? {
    var perSecond: Double?
    var succeeded: Int?
    for line in output.split(separator: "\n") {
      let parts = line.split(separator: ", ")
      if line.hasPrefix("finished in ") {
        perSecond = number(before: " req/s", in: parts)
      } else if line.hasPrefix("requests: ") {
        succeeded = number(before: " succeeded", in: parts).map { Int($0) }
      }
    }
    guard let perSecond, let succeeded else { return nil }
    return Summary(succeeded: succeeded, perSecond: perSecond)
  }

  private static func number(before unit: String, in parts: [Substring]) -> Double? {
    parts.first { $0.hasSuffix(unit) }.flatMap { Double($0.dropLast(unit.count)) }
  }
}
