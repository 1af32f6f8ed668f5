/// How the process that is the server is told what to do.
package enum ServerArguments {
  package static let delay = "delay-ms"
  package static let badTokens = "bad-tokens"
  package static let folder = "folder"

  static func words(_ configuration: LeanServer.Configuration, folder path: String) -> [String] {
    let milliseconds = configuration.answersAfter / .milliseconds(1)
    return ["--\(delay)", "\(Int(milliseconds))", "--\(folder)", path]
      + (configuration.knowsBadTokens ? ["--\(badTokens)"] : [])
  }
}

/// How the process that is the client is told what to do.
package enum ClientArguments {
  package static let contender = "contender"
  package static let inFlight = "in-flight"
  package static let perSecond = "per-second"
  package static let requests = "requests"
  package static let badTokens = "bad-tokens"
  package static let port = "port"
  package static let trust = "trust"

  static func words(
    _ workload: Workload, _ contender: Contender, _ port: Int, _ trust: String
  ) -> [String] {
    let demand =
      switch workload.demand {
      case .inFlight(let width): ["--\(inFlight)", "\(width)"]
      case .perSecond(let rate): ["--\(perSecond)", "\(rate)"]
      }
    return demand + (workload.halfBad ? ["--\(badTokens)"] : []) + [
      "--\(Self.contender)", contender.rawValue, "--\(requests)", "\(workload.requests)",
      "--\(Self.port)", "\(port)", "--\(Self.trust)", trust,
    ]
  }
}
