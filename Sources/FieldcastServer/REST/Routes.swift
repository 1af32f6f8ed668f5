internal import FieldTrips
internal import HTTP
internal import TripStore

/// The paths of the REST interface, and what answers each.
struct Routes: Sendable {
  let api: TripAPI
  let channels: ChannelAPI
  let notifications: NotificationAPI
  let readiness: Readiness
  let metrics: ServiceMetrics
  let dashboard: Dashboard
  let door: Doorkeeper

  /// Bytes that a request's body may have: some hundred triggers, or one of anything else.
  static let smallBody = 65_536

  var router: Router {
    var router = Router()
    router.refusal = { status, detail, fields in
      var response = ProblemDocument(status: status, detail: detail).response
      for field in fields { response.fields.append(field.name, field.value) }
      return response
    }
    addTrips(to: &router)
    addTokens(to: &router)
    addNotifications(to: &router)
    addChannels(to: &router)
    addHealth(to: &router)
    addDashboard(to: &router)
    return router
  }

  private func addTrips(to router: inout Router) {
    let (api, door) = (api, door)
    router.on("POST", "/v1/trips", for: [.trips], by: door) {
      .response(await api.createTrip($0.request))
    }
    router.on("GET", "/v1/trips", for: [.trips], by: door) {
      .response(await api.listTrips(cursor: $0.query["cursor"], limit: $0.query["limit"]))
    }
    router.on("GET", "/v1/trips/{trip}", for: [.trips], by: door) {
      .response(await api.readTrip($0["trip"]))
    }
    router.on("GET", "/v1/trips/{trip}/timeline", for: [.trips], by: door) {
      .response(await api.readTimeline($0["trip"]))
    }
    router.onOwn("POST", "/v1/trips/{trip}/members", for: [.trips, .devices], by: door) {
      .response(await api.join($0.request, trip: $0["trip"], by: $1))
    }
    router.onOwn("GET", "/v1/trips/{trip}/members/{member}", for: [.trips, .devices], by: door) {
      .response(await api.readMember(trip: $0["trip"], member: $0["member"], by: $1))
    }
    router.onOwn("DELETE", "/v1/trips/{trip}/members/{member}", for: [.trips, .devices], by: door) {
      .response(await api.leave(trip: $0["trip"], member: $0["member"], by: $1))
    }
    router.onOwn("POST", "/v1/trips/{trip}/notes", for: [.notes], by: door) {
      .response(await api.postNotes($0.request, trip: $0["trip"], by: $1))
    }
    router.on("PUT", "/v1/trips/{trip}/content-state", for: [.trips], by: door) {
      .response(await api.putContentState($0.request, trip: $0["trip"]))
    }
    router.on("POST", "/v1/trips/{trip}/end", for: [.trips], by: door) {
      .response(await api.endTrip($0.request, trip: $0["trip"]))
    }
  }

  private func addTokens(to router: inout Router) {
    let (tokens, door) = (TokenAPI(api: api), door)
    router.onOwn("POST", "/v1/devices", for: [.devices], by: door) {
      .response(await tokens.registerDevice($0.request, by: $1))
    }
    router.onOwn("POST", "/v1/activity-tokens", for: [.devices], by: door) {
      .response(await tokens.registerActivityToken($0.request, by: $1))
    }
    router.onOwn("DELETE", "/v1/activity-tokens/{activity}", for: [.devices], by: door) {
      .response(await tokens.endActivity($0["activity"], query: $0.query, by: $1))
    }
  }

  private func addNotifications(to router: inout Router) {
    let (notifications, door) = (notifications, door)
    router.on("POST", "/v1/notifications", for: [.push], by: door) {
      .response(await notifications.create($0.request))
    }
    router.on("GET", "/v1/notifications/{id}", for: [.push], by: door) {
      .response(await notifications.read($0["id"]))
    }
    router.on("DELETE", "/v1/notifications/{id}", for: [.push], by: door) {
      .response(await notifications.cancel($0["id"]))
    }
  }

  private func addChannels(to router: inout Router) {
    let (channels, door) = (channels, door)
    router.on("GET", "/v1/channels", for: [.admin], by: door) { _ in
      .response(await channels.usage())
    }
    router.on("POST", "/v1/channels/reconcile", for: [.admin], by: door) {
      .response(await channels.reconcile($0.request))
    }
  }

  private func addHealth(to router: inout Router) {
    let (readiness, metrics, door) = (readiness, metrics, door)
    router.on("GET", "/healthz") { _ in .response(Readiness.alive) }
    router.on("GET", "/readyz") { _ in .response(await readiness.response()) }
    router.on("GET", "/openapi.json") { _ in .response(APIDescription.response) }
    router.on("GET", "/metrics", for: [.admin], by: door) { _ in
      .response(await metrics.response())
    }
  }

  private func addDashboard(to router: inout Router) {
    let (dashboard, door) = (dashboard, door)
    for file in DashboardPage.files {
      router.on("GET", file.path) { .response(file.response(to: $0.request)) }
    }
    router.onKnown("GET", "/v1/events", for: [.trips, .admin], by: door) { routed, caller in
      await dashboard.listen(routed, scopes: routed.scopes(by: door), by: caller)
    }
  }
}
