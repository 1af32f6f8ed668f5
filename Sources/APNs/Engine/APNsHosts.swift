public import HTTP
public import Transport

/// Which of Apple's two worlds an app's tokens and channels belong to. They never mix.
public enum APNsEnvironment: String, Sendable, Hashable, CaseIterable {
  /// Builds from Xcode (`aps-environment` is `development`); Apple also says "sandbox".
  case development
  /// TestFlight, ad hoc and the App Store.
  case production
}

/// One app in one environment: what channels and tokens belong to.
public struct APNsApp: Sendable, Hashable, CustomStringConvertible {
  /// The app.
  public let bundleID: BundleID
  /// The world that its tokens and channels are of.
  public let environment: APNsEnvironment

  /// An app in one environment; the same app in the other one is another value.
  public init(bundleID: BundleID, environment: APNsEnvironment) {
    self.bundleID = bundleID
    self.environment = environment
  }

  public var description: String { "\(bundleID) (\(environment.rawValue))" }
}

/// One server of APNs: where to connect, and the name that its certificate must carry.
public struct APNsHost: Sendable, Hashable, CustomStringConvertible {
  /// The server's name, which its certificate must carry.
  public var name: String
  /// 1 to 65,535.
  public var port: Int
  /// Where to connect instead of `name` and `port`; the certificate must still be for `name`.
  package var endpoint: Endpoint?

  /// A server under its own name.
  public init(name: String, port: Int) {
    self.init(name: name, port: port, endpoint: nil)
  }

  package init(name: String, port: Int, endpoint: Endpoint?) {
    self.name = name
    self.port = port
    self.endpoint = endpoint
  }

  var target: Endpoint { endpoint ?? .tcp(host: name, port: port) }

  /// The `:authority` of requests: the port is left out where it is HTTPS' own.
  var authority: String {
    let bracketed = name.contains(":") ? "[\(name)]" : name
    return port == 443 ? bracketed : "\(bracketed):\(port)"
  }

  public var description: String { "\(name):\(port)" }
}

/// The servers of one environment, and which certificates they may show.
public struct APNsHosts: Sendable {
  /// Device pushes.
  public var push: APNsHost
  /// Broadcasts. Apple's pages name two hosts; other clients use that of device pushes, so that is
  /// the default.
  public var broadcast: APNsHost
  /// Channel management. Its ports have no alternative: 2195 and 2196 must be open.
  public var management: APNsHost
  /// Whose certificates are believed.
  public var trust: TLSTrust
  /// Opens tunnels to all of them, to their own ports; nil connects directly.
  public var proxy: HTTPProxy?

  /// Servers other than Apple's, such as a simulator.
  public init(
    push: APNsHost, broadcast: APNsHost? = nil, management: APNsHost, trust: TLSTrust = .system,
    proxy: HTTPProxy? = nil
  ) {
    self.push = push
    self.broadcast = broadcast ?? push
    self.management = management
    self.trust = trust
    self.proxy = proxy
  }

  /// Apple's own.
  public static func apple(
    _ environment: APNsEnvironment, trust: TLSTrust = .system, proxy: HTTPProxy? = nil
  ) -> APNsHosts {
    switch environment {
    case .production:
      APNsHosts(
        push: APNsHost(name: "api.push.apple.com", port: 443),
        management: APNsHost(name: "api-manage-broadcast.push.apple.com", port: 2196),
        trust: trust, proxy: proxy)
    case .development:
      APNsHosts(
        push: APNsHost(name: "api.sandbox.push.apple.com", port: 443),
        management: APNsHost(name: "api-manage-broadcast.sandbox.push.apple.com", port: 2195),
        trust: trust, proxy: proxy)
    }
  }
}
