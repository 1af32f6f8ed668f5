internal import Clocks
internal import FieldTrips
internal import HTTP
internal import JSON
internal import TripStore

/// `GET /v1/channels` and `POST /v1/channels/reconcile`: what an app's channels are for, and which
/// of them nobody knows.
struct ChannelAPI: Sendable {
  let api: TripAPI
  let reconciler: ChannelReconciler
  let settings: ChannelSettings

  /// How many channels each app uses of its quota, by what they are for and by age.
  func usage() async -> HTTPResponse {
    await api.answering {
      var rows: [(AppID, ChannelUsage, [KnownChannel])] = []
      for app in api.settings.apps {
        let channels = try await api.store.channels(of: app).map(\.channel)
        rows.append((app, try await api.store.channelUsage(of: app), channels))
      }
      var writer = JSONWriter()
      writer.object {
        $0.key("apps")
        $0.array { list in
          for (app, usage, channels) in rows {
            list.object {
              write(usage, of: app, to: &$0)
              write(agesOf: channels, to: &$0)
            }
          }
        }
      }
      return .json(200, writer.finish())
    }
  }

  private func write(_ usage: ChannelUsage, of app: AppID, to writer: inout JSONWriter) {
    writer.member("bundleID", app.bundleID)
    writer.member("environment", app.environment.rawValue)
    writer.member("used", usage.used)
    writer.member("limit", settings.quota.limit)
    writer.member("level", settings.quota.level(used: usage.used).rawValue)
    writer.member("inBooks", usage.recorded)
    writer.member("beingCreated", usage.intended)
    writer.member("warm", usage.warm.values.reduce(0, +))
    writer.member("awaitingDeletion", usage.awaitingDeletion)
    writer.member("foreign", usage.foreign)
  }

  private func write(agesOf channels: [KnownChannel], to writer: inout JSONWriter) {
    let now = api.clock.wall
    writer.key("ages")
    writer.array { list in
      var older = channels.map { now - $0.createdAt }
      for hours in Self.ageHours {
        let count = older.filter { $0 < .seconds(hours * 3_600) }.count
        older.removeAll { $0 < .seconds(hours * 3_600) }
        list.object {
          $0.member("underHours", hours)
          $0.member("channels", count)
        }
      }
      list.object { $0.member("channels", older.count) }
    }
  }

  /// A card's life, a day, the longest trip and a channel's rest, a week.
  private static let ageHours: [Int64] = [1, 8, 24, 96, 168]

  /// Compares Apple's list with the books. A body `{"delete": ["<channel ID>", …]}` also deletes
  /// those of the named channels that are in nobody's books.
  func reconcile(_ request: HTTPRequest) async -> HTTPResponse {
    await api.answering {
      let wanted = request.body.isEmpty ? [] : try channelsToDelete(try api.parse(request.body))
      var documents: [(AppID, Reconciliation, [ChannelID])] = []
      for app in api.settings.apps {
        do {
          let result = try await reconciler.reconcile(app, previous: nil)
          let deleted = try await reconciler.delete(wanted, of: result, of: app)
          documents.append((app, result, deleted))
        } catch let failure as ChannelReconciler.Failure {
          throw ProblemError(
            ProblemDocument(
              .apnsNoAnswer, "The channels of \(app) cannot be listed: \(failure.reason)"))
        }
      }
      var writer = JSONWriter()
      writer.object {
        $0.key("apps")
        $0.array { list in
          for (app, result, deleted) in documents {
            list.object { write(result, deleted, of: app, to: &$0) }
          }
        }
      }
      return .json(200, writer.finish())
    }
  }

  private func channelsToDelete(_ value: JSONValue) throws(Refusal) -> Set<ChannelID> {
    guard let list = value["delete"]?.array, value.object?.count == 1 else {
      throw Refusal(Problem(.badValue, "Expected {\"delete\": [channel IDs]}, or no body."))
    }
    var channels: Set<ChannelID> = []
    for (index, element) in list.enumerated() {
      guard let text = element.string, let channel = try? ChannelID(text) else {
        throw Refusal(
          Problem(.badIdentifier, at: "/delete/\(index)", "This is no channel ID."))
      }
      channels.insert(channel)
    }
    return channels
  }

  private func write(
    _ result: Reconciliation, _ deleted: [ChannelID], of app: AppID, to writer: inout JSONWriter
  ) {
    writer.member("bundleID", app.bundleID)
    writer.member("environment", app.environment.rawValue)
    let orphans = result.orphans.filter { !deleted.contains($0) }
    let lists: [(String, [ChannelID])] = [
      ("orphans", orphans), ("probablyOurs", result.suspects.filter { orphans.contains($0) }),
      ("undecided", result.undecided), ("lost", result.lost.map(\.id)), ("deleted", deleted),
    ]
    for (name, channels) in lists {
      writer.key(name)
      writer.array { list in for channel in channels { list.string(channel.text) } }
    }
  }
}
