internal import FieldTrips

extension ServiceMetrics {
  func addNotifications(to page: inout MetricsPage) async {
    let counts = await owner.notificationCounts
    page.counters(
      "fieldcast_notifications", "Notifications that are over, by what became of them.",
      NotificationLife.Phase.allCases.filter { $0.isOver && $0 != .cancelled }.map {
        (["outcome": $0.rawValue], counts.over[$0] ?? 0)
      })
    page.counters(
      "fieldcast_notification_pushes", "Pushes of notifications to devices, by APNs' answer.",
      [
        (["answer": "accepted"], counts.accepted), (["answer": "later"], counts.later),
        (["answer": "dead"], counts.dead), (["answer": "refused"], counts.refused),
        (["answer": "unknown"], counts.unconfirmed),
      ])
    let fetches = await owner.fetcher.counts
    page.counters(
      "fieldcast_content_fetches", "Fetches of notifications' content, by what they brought.",
      [
        (["outcome": "content"], fetches.fetched), (["outcome": "empty"], fetches.empty),
        (["outcome": "failed"], fetches.failed),
      ])
  }
}
