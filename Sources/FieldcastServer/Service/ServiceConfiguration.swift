package import APNs
package import FieldTrips
package import HTTP
package import Transport

/// One node's settings.
package struct ServiceConfiguration: Sendable {
  /// Which Redis holds the data.
  package enum Store: Sendable {
    /// A private `redis-server` in this folder, ended with the service.
    case own(folder: String)
    /// One server, Sentinels or a cluster, as `RedisURL` takes it; the trust file is for TLS.
    case url(String, trustFile: String?)
  }

  /// Where REST is served.
  package var listen: Endpoint = .tcp(host: "127.0.0.1", port: 8080)
  /// Limits and deadlines of REST's clients; body limits and refusals are the routes' own.
  package var http = HTTPServerConfiguration()
  /// Holders of tokens for REST. With neither these nor members, everybody who reaches it may call.
  package var access: AccessList?
  /// Members who call with tokens of the product's own backend; nil takes none.
  package var members: MemberAccess?
  /// With these REST is served over TLS.
  package var certificate: CertificateFiles?
  /// Requests a second of one member, and of one holder or address; nil sets no limit.
  package var memberRate: Double?
  package var callerRate: Double?
  package var store: Store
  /// Replicas that must have what was taken in before that is answered, so that a failover does not
  /// lose it; 0 waits for none.
  package var redisReplicas = 0
  /// At least one; the first is meant when a request names none.
  package var apps: [AppConfiguration]
  package var activityTypes: [ActivityType]
  /// Whether to start although a type has changed in a way that running trips may not survive.
  package var acceptsTypeChanges = false
  package var policy = PublishingPolicy()
  package var appRate = AppRateSettings()
  package var rules = TripRules()
  package var channels = ChannelSettings()
  package var notifications = NotificationRules()
  /// Where the content of notifications may be fetched from.
  package var contentHosts = ContentHosts.none
  /// Stands in for the name server where content is fetched: the addresses of a host. Nil asks the
  /// system.
  package var contentLookUp: (@Sendable (_ host: String) -> [String])?
  /// Who collects the spans of callers' traces; nil keeps none.
  package var collector: TraceCollector?
  package var clock = ServiceClock()
  /// Unique among running nodes, and the same after a restart.
  package var node: String
  /// How long a killed node's partitions have no owner; real time, 1 to 60 s.
  package var leaseLife: Duration = .seconds(5)
  /// How long a stop may take before what is under way is cut off; real time.
  package var grace: Duration = .seconds(10)
  /// Never to be changed while Redis holds trips.
  package var partitionCount = Partition.defaultCount

  package init(
    store: Store, apps: [AppConfiguration], activityTypes: [ActivityType], node: String
  ) {
    self.store = store
    self.apps = apps
    self.activityTypes = activityTypes
    self.node = node
  }
}

extension ServiceConfiguration {
  /// What would keep a service from starting with these, as far as one can tell without connecting
  /// to anything.
  package func problems() -> [String] {
    var problems: [String] = []
    func look(_ body: () throws(StartFailure) -> Void) {
      do throws(StartFailure) { try body() } catch { problems.append(error.description) }
    }
    look { () throws(StartFailure) in try ServiceParts.validate(self) }
    if let files = certificate {
      look { () throws(StartFailure) in _ = try DoorCertificate(files: files).load() }
    }
    if let members {
      look { () throws(StartFailure) in _ = try KeyReader(members.keys) }
    }
    return problems
  }
}

/// An app with its credentials and where its APNs is.
package struct AppConfiguration: Sendable {
  package var bundleID: String
  package var environment: AppID.Environment
  package var key: ProviderKey
  package var hosts: APNsHosts

  package init(
    bundleID: String, environment: AppID.Environment, key: ProviderKey, hosts: APNsHosts
  ) {
    self.bundleID = bundleID
    self.environment = environment
    self.key = key
    self.hosts = hosts
  }
}

/// Why the service does not start: what is wrong, and what to do.
package struct StartFailure: Error, Sendable, CustomStringConvertible {
  package let description: String

  package init(_ description: String) { self.description = description }
}
