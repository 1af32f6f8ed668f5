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

  /// How many channels each app uses of its quota, by what they are for.
  func usage() async -> HTTPResponse {
    await api.answering {
      var rows: [(AppID, ChannelUsage)] = []
      for app in api.settings.apps { rows.append((app, try await api.store.channelUsage(of: app))) }
      var writer = JSONWriter()
      writer.object {
        $0.key("apps")
        $0.array { list in
          for (app, usage) in rows { list.object { write(usage, of: app, to: &$0) } }
        }
      }
      return .json(200, writer.finish())
    }
  }

  private func write(_ usage: ChannelUsage, of app: AppID, to writer: inout JSONWriter) {
    writer.member("bundleID", app.bundleID)
    writer.member("environment", app.environment.rawValue)
    writer.member("used", usage.used)
    writer.member("limit", ChannelQuota().limit)
    writer.member("inBooks", usage.recorded)
    writer.member("beingCreated", usage.intended)
    writer.member("warm", usage.warm.values.reduce(0, +))
    writer.member("awaitingDeletion", usage.awaitingDeletion)
    writer.member("foreign", usage.foreign)
  }

  /// Compares Apple's list with the books. A body `{"delete": ["<channel ID>", …]}` also deletes
  /// those of the named channels that are in nobody's books.
  func reconcile(_ request: HTTPRequest) async -> HTTPResponse {
    await api.answering {
      let wanted = request.body.isEmpty ? [] : try channelsToDelete(try api.parse(request.body))
      var documents: [(AppID, Reconciliation, [ChannelID])] = []
      for app in api.settings.apps {
        do {
          let deleted = try await reconciler.deleteOrphans(wanted, of: app)
          let result = try await reconciler.reconcile(app, previous: nil)
          documents.append((app, result, deleted))
        } catch let failure as ChannelReconciler.Failure {
          throw ProblemError(
            ProblemDocument(
              status: 502, kind: "apns-unavailable", title: "APNs does not answer",
              detail: "The channels of \(app) cannot be listed: \(failure.reason)"))
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
    let lists: [(String, [ChannelID])] = [
      ("orphans", result.orphans), ("probablyOurs", result.suspects),
      ("undecided", result.undecided), ("lost", result.lost.map(\.id)), ("deleted", deleted),
    ]
    for (name, channels) in lists {
      writer.key(name)
      writer.array { list in for channel in channels { list.string(channel.text) } }
    }
  }
}
