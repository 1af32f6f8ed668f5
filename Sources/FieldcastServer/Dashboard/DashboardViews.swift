internal import Clocks
internal import FieldTrips
internal import JSON
internal import Transport
internal import TripStore

/// Reads from the store what the dashboard tells of, as JSON. Times are milliseconds since 1970.
struct DashboardViews: Sendable {
  let node: String
  let store: TripStore
  let owner: Owner
  let reporter: NodeReporter
  let apps: [AppID]
  let quota: ChannelQuota

  /// From one reading to the next; real time. What changes seldom, or costs more, is read less often.
  func period(of part: EventWish.Part) -> Duration {
    switch part {
    // Not with each newcomer, and in time for the next look.
    case .trips, .trip: Dashboard.period * 9 / 10
    case .health, .deadLetters: NodeReporter.period
    // A read of two keys for each partition.
    case .nodes: max(.seconds(3), .milliseconds(store.partitionCount * 4))
    case .channels: .seconds(3)
    }
  }

  func read(_ part: EventWish.Part) async throws(StoreError) -> [UInt8] {
    switch part {
    case .health: await health()
    case .nodes: try await nodes()
    case .channels: try await channels()
    case .deadLetters: try await deadLetters()
    case .trips, .trip: []
    }
  }

  // MARK: One trip

  /// A trip's page; one that says that there is none if there is none, or that it cannot be read.
  func page(of trip: TripID) async throws(StoreError) -> [UInt8] {
    let known: TripTimeline?
    do throws(StoreError) {
      known = try await owner.timeline(of: trip)
    } catch .unexpectedReply(let reason) {
      return Self.page(of: trip) { $0.member("unreadable", reason) }
    }
    guard let timeline = known else {
      return Self.page(of: trip) { $0.member("unknown", true) }
    }
    return TripPage(
      timeline: timeline, policy: owner.settings.policy, node: try await store.node(of: trip),
      partition: store.partition(of: trip)
    ).written()
  }

  private static func page(
    of trip: TripID, _ write: (inout JSONWriter) -> Void
  ) -> [UInt8] {
    var writer = JSONWriter()
    writer.object {
      $0.member("trip", trip.text)
      write(&$0)
    }
    return writer.finish()
  }

  // MARK: Nodes

  /// How each node fares, by its own report; this one's is of this moment, also when Redis, which
  /// has the others', cannot be asked.
  private func health() async -> [UInt8] {
    var reports: [(node: String, report: [UInt8]?)] = []
    var problem: String?
    if await reporter.isConnected {
      do throws(StoreError) { reports = try await store.nodeReports() } catch {
        problem = "\(error)"
      }
    } else {
      problem = "this node has no connection to Redis, or not to all of its servers."
    }
    let own = await reporter.written()
    reports.removeAll { $0.node == node }
    reports.append((node, own))
    var writer = JSONWriter(reservingCapacity: 8_192)
    writer.object {
      if let problem { $0.member("problem", problem) }
      $0.key("nodes")
      $0.array { list in
        for (name, report) in reports.sorted(by: { $0.node < $1.node }) {
          list.object {
            $0.member("node", name)
            $0.member("isHere", name == node)
            if let report, let text = try? JSONText(validating: report) {
              $0.member("report", text)
            }
          }
        }
      }
    }
    return writer.finish()
  }

  private func nodes() async throws(StoreError) -> [UInt8] {
    let tenures = try await store.tenures()
    let living = try await store.nodeReports().map(\.node)
    // A node that died a moment ago may still hold leases.
    let names = Set(tenures.compactMap(\.node)).union(living).sorted()
    let isDrawn = tenures.count <= Self.mostDrawnPartitions
    var writer = JSONWriter(reservingCapacity: 4_096)
    writer.object {
      $0.key("nodes")
      $0.array { list in
        for name in names {
          let own = tenures.filter { $0.node == name }
          list.object {
            $0.member("node", name)
            $0.member("isHere", name == node)
            $0.member("lives", living.contains(name))
            $0.member("partitions", own.count)
            if let newest = own.map(\.epoch).max() { $0.member("newestEpoch", newest.number) }
          }
        }
      }
      $0.member("partitions", tenures.count)
      $0.member("unowned", tenures.count { $0.node == nil })
      if isDrawn { Self.write(tenures, of: names, to: &$0) }
    }
    return writer.finish()
  }

  /// More would be an event of a megabyte, and nobody tells them apart.
  private static let mostDrawnPartitions = 4_096

  /// By partition: the place of its owner in the list, -1 for none, and the epoch.
  private static func write(
    _ tenures: [Tenure], of names: [String], to writer: inout JSONWriter
  ) {
    let places = Dictionary(uniqueKeysWithValues: zip(names, 0...))
    writer.key("owners")
    writer.array { list in
      for tenure in tenures { list.int(tenure.node.flatMap { places[$0] } ?? -1) }
    }
    writer.key("epochs")
    writer.array { list in for tenure in tenures { list.int(tenure.epoch.number) } }
  }

  // MARK: Channels

  private func channels() async throws(StoreError) -> [UInt8] {
    var rows: [(app: AppID, usage: ChannelUsage, nextDeletion: UnixTime?)] = []
    for app in apps {
      let usage = try await store.channelUsage(of: app)
      rows.append((app, usage, try await store.nextDeletion(of: app)))
    }
    var writer = JSONWriter()
    writer.object {
      $0.key("apps")
      $0.array { list in
        for row in rows {
          list.object {
            $0.member("app", row.app.words)
            write(row.usage, to: &$0)
            if let next = row.nextDeletion { $0.member("nextDeletion", next.milliseconds) }
          }
        }
      }
    }
    return writer.finish()
  }

  private func write(_ usage: ChannelUsage, to writer: inout JSONWriter) {
    let warm = usage.warm.values.reduce(0, +)
    writer.member("limit", quota.limit)
    writer.member("used", usage.used)
    writer.member("level", quota.level(used: usage.used).rawValue)
    writer.member("trips", usage.recorded - warm - usage.awaitingDeletion)
    writer.member("warm", warm)
    writer.member("beingCreated", usage.intended)
    writer.member("awaitingDeletion", usage.awaitingDeletion)
    writer.member("foreign", usage.foreign)
  }

  // MARK: Dead letters

  /// So many are shown, the newest, and so much of each.
  private static let shownLetters = 50
  private static let shownExcerpt = 400

  private func deadLetters() async throws(StoreError) -> [UInt8] {
    let count = try await store.deadLetterCount()
    let letters = try await store.deadLetters(limit: Self.shownLetters)
    var writer = JSONWriter(reservingCapacity: 8_192)
    writer.object {
      $0.member("count", count)
      $0.key("letters")
      $0.array { list in
        for letter in letters {
          list.object {
            $0.member("at", letter.at.milliseconds)
            $0.member("door", letter.door)
            $0.member("reason", letter.reason)
            $0.member("message", letter.message)
            $0.member(
              "excerpt",
              String(decoding: letter.excerpt.prefix(Self.shownExcerpt), as: UTF8.self))
          }
        }
      }
    }
    return writer.finish()
  }
}

extension AppID {
  /// For people: `com.example.trips (production)`, as the push engine names it.
  var words: String { "\(bundleID) (\(environment.rawValue))" }
}
