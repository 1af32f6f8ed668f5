internal import APNs
internal import FieldTrips
internal import HTTP
internal import Redis
internal import Transport
internal import TripStore

/// `GET /metrics`: what a node did and is doing, for Prometheus.
///
/// Spans are of real time, but `wait` is the service clock's, which only tests scale. Counters begin
/// at 0 with the process.
struct ServiceMetrics: Sendable {
  let intake: TriggerIntake
  let owner: Owner
  let channels: ChannelManager
  let apps: [AppID]
  let clients: [APNsClient]
  let redis: any ConnectedRedis
  let server: HTTPServer
  let times: StageTimes

  func response() async -> HTTPResponse {
    var page = MetricsPage()
    let counts = await owner.counts
    await addTriggers(to: &page, counts)
    await addPublishing(to: &page, counts)
    await addSpans(to: &page)
    await addNotifications(to: &page)
    await addAPNs(to: &page)
    await addChannels(to: &page)
    await addRedis(to: &page)
    await addREST(to: &page)
    addProcess(to: &page)
    return HTTPResponse(
      status: 200, fields: ["content-type": "text/plain; version=0.0.4; charset=utf-8"],
      body: Array(page.text.utf8))
  }

  private func addTriggers(to page: inout MetricsPage, _ applied: Owner.Counts) async {
    let counts = await intake.counts
    page.counters(
      "fieldcast_triggers", "Triggers that came to this node's doors, by what became of them.",
      [
        (["outcome": "accepted"], counts.accepted), (["outcome": "duplicate"], counts.duplicates),
        (["outcome": "refused"], counts.refused), (["outcome": "failed"], counts.failed),
      ])
    page.counters(
      "fieldcast_log_entries", "Entries of this node's partitions' logs, by what became of them.",
      [(["outcome": "applied"], applied.applied), (["outcome": "dead"], applied.refused)])
    page.gauge(
      "fieldcast_log_partitions_waiting", "Partitions whose log entries wait for their round.",
      await owner.partitionsWaiting)
    page.histograms(
      "fieldcast_stage", "How long a stage took through which every trigger goes.",
      [
        (["stage": "append"], times[.append]), (["stage": "commit"], times[.commit]),
        (["stage": "wait"], times[.wait]), (["stage": "broadcast"], times[.broadcast]),
      ])
  }

  private func addSpans(to page: inout MetricsPage) async {
    guard let counts = await owner.spans?.counts else { return }
    page.counters(
      "fieldcast_spans", "Spans of callers' traces, by whether their collector has them.",
      [(["outcome": "exported"], counts.exported), (["outcome": "dropped"], counts.dropped)])
  }

  private func addPublishing(to page: inout MetricsPage, _ counts: Owner.Counts) async {
    page.counters(
      "fieldcast_broadcasts", "Broadcasts that APNs accepted, by priority.",
      [(["priority": "10"], counts.broadcasts10), (["priority": "5"], counts.broadcasts5)])
    page.counters(
      "fieldcast_broadcasts_failed", "Broadcasts that APNs did not accept.",
      [(["cause": "throttled"], counts.throttled), (["cause": "other"], counts.failed)])
    page.counters(
      "fieldcast_card_pushes", "Pushes to single cards by their tokens, whatever came of them.",
      [(["kind": "update"], counts.tokenPushes), (["kind": "start"], counts.starts)])
    page.counter(
      "fieldcast_card_starts_withheld",
      "Starts that waited since the person's devices had as many as they may.",
      counts.startsWithheld)
    page.counters(
      "fieldcast_tokens_struck_off", "Tokens of cards that are not sent to any more.",
      [(["cause": "dead"], counts.tokensRetired), (["cause": "storm"], counts.tokensQuarantined)])
    page.counter(
      "fieldcast_card_pushes_unserved",
      "Pushes to cards that were not sent: no app of their tokens' environment is configured.",
      counts.tokensUnserved)
    page.gauge(
      "fieldcast_partitions_owned", "Partitions that this node owns.",
      await owner.ownerships.count)
    page.gauge(
      "fieldcast_trips_in_memory", "Trips of which this node holds a copy.",
      await owner.tripsInMemory)
  }

  private func addAPNs(to page: inout MetricsPage) async {
    var pools: [(app: String, pool: String, status: ConnectionPoolStatus)] = []
    var ready: [(MetricsPage.Labels, Int)] = []
    for client in clients {
      let health = await client.health
      let app = "\(client.app)"
      ready.append((["app": app], health.problem == nil ? 1 : 0))
      pools.append((app, "broadcasts", health.broadcasts))
      pools.append((app, "management", health.management))
      pools.append((app, "pushes", health.pushes))
    }
    func each(_ value: (ConnectionPoolStatus) -> Int) -> [(MetricsPage.Labels, Int)] {
      pools.map { (["app": $0.app, "pool": $0.pool], value($0.status)) }
    }
    page.gauges("fieldcast_apns_ready", "Whether an app's requests can be sent.", ready)
    page.gauges("fieldcast_apns_connections", "Open connections to APNs.", each(\.open))
    page.gauges(
      "fieldcast_apns_requests_in_flight", "Requests without an answer yet.", each(\.inFlight))
    page.gauges(
      "fieldcast_apns_requests_waiting", "Requests that wait for a connection.", each(\.waiting))
    page.gauges(
      "fieldcast_apns_stream_limit", "Requests that APNs takes at once.", each(\.streamLimit))
    page.counters(
      "fieldcast_apns_connections_opened", "Connections that were made.", each(\.opened))
    page.counters(
      "fieldcast_apns_connect_failures", "Attempts to connect that failed.",
      each(\.failedToOpen))
    page.counters(
      "fieldcast_apns_connections_replaced",
      "Connections that were retired: old, idle or silent.", each(\.replaced))
    // Reasons are Apple's published words, `other` or `none`: few.
    page.counters(
      "fieldcast_apns_goaways", "Connections that APNs ended, by the reason it gave.",
      pools.flatMap { pool in
        pool.status.goAwayReasons.sorted { $0.key < $1.key }.map {
          (["app": pool.app, "pool": pool.pool, "reason": $0.key], $0.value)
        }
      })
  }

  /// Of all nodes together: the books are shared. None while Redis does not answer.
  private func addChannels(to page: inout MetricsPage) async {
    let limit = channels.settings.quota.limit
    var counts: [(app: String, usage: ChannelUsage)] = []
    for app in apps {
      guard let usage = try? await channels.store.channelUsage(of: app) else { continue }
      counts.append((app.words, usage))
    }
    page.gauges(
      "fieldcast_channels", "Channels that count against an app's quota, by what they are for.",
      counts.flatMap { app, usage -> [(MetricsPage.Labels, Int)] in
        let warm = usage.warm.values.reduce(0, +)
        return [
          (["app": app, "use": "trip"], usage.recorded - warm - usage.awaitingDeletion),
          (["app": app, "use": "warm"], warm),
          (["app": app, "use": "deletion"], usage.awaitingDeletion),
          (["app": app, "use": "coming"], usage.intended),
          (["app": app, "use": "unknown"], usage.foreign),
        ]
      })
    page.gauges(
      "fieldcast_channels_limit", "How many channels an app may have.",
      counts.map { (["app": $0.app], limit) })
  }

  private func addRedis(to page: inout MetricsPage) async {
    page.gauge(
      "fieldcast_redis_connected", "Whether every connection for commands is open.",
      await redis.isConnected ? 1 : 0)
    page.counter(
      "fieldcast_redis_connection_losses", "How often one was lost.", await redis.losses)
  }

  private func addREST(to page: inout MetricsPage) async {
    let counts = await server.counts()
    page.histograms(
      "fieldcast_rest_request", "From a request, read whole, until its answer, by status.",
      [
        (["status": "ok"], times[.restSucceeded]), (["status": "4xx"], times[.restRefused]),
        (["status": "5xx"], times[.restFailed]),
      ])
    page.gauge(
      "fieldcast_rest_connections", "Open connections of clients.",
      await server.openConnections())
    page.counters(
      "fieldcast_rest_connections_opened", "Connections of clients.",
      [
        (["outcome": "accepted"], counts.connectionsAccepted),
        (["outcome": "refused"], counts.connectionsRefused),
      ])
    page.counter(
      "fieldcast_rest_requests_malformed", "Requests that were refused before a route saw them.",
      counts.requestsRefused)
    page.counter(
      "fieldcast_rest_slow_clients", "Connections cut since the client was too slow.",
      counts.slowClientsCut)
  }

  private func addProcess(to page: inout MetricsPage) {
    guard let usage = ProcessUsage.ofThisProcess else { return }
    page.seconds("process_cpu", "User and system time.", usage.cpuSeconds)
    page.gauge(
      "process_resident_memory_bytes", "Memory in RAM.", usage.residentBytes)
  }
}
