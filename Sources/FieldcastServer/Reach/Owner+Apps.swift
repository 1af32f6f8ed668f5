internal import FieldTrips
internal import TripStore

extension Owner {
  /// Takes in a batch of answers, before any of them is judged.
  ///
  /// - Parameter answers: with where each was sent to.
  /// - Returns: the app's environments in which so many tokens fail that it is not their fault.
  func noteStorm(
    _ answers: [(environment: AppID.Environment, answer: TokenPushAnswer)], of bundleID: String
  ) -> Set<AppID.Environment> {
    var raging: Set<AppID.Environment> = []
    for app in lanes.keys where app.bundleID == bundleID {
      let said = answers.compactMap { (environment, answer) -> TokenAnswer? in
        guard environment == app.environment, case .said(let said) = answer else { return nil }
        return said
      }
      let unknown = said.count { $0 == .unknown }
      storms[app, default: TokenStorm()].note(
        unknown: unknown, others: said.count - unknown, at: clock.wall)
      if storms[app]?.isRaging == true { raging.insert(app.environment) }
    }
    return raging
  }

  /// An app as tokens name it.
  func tokenApp(_ bundleID: String?) -> TokenApp {
    let first = settings.defaultBundleID
    return TokenApp(bundleID ?? first, first: first)
  }

  /// An app's ways to APNs, by environment.
  func ways(of app: TokenApp) -> [AppID.Environment: AppGateway] {
    var ways: [AppID.Environment: AppGateway] = [:]
    for (id, lane) in lanes where id.bundleID == app.bundleID {
      ways[id.environment] = lane.gateway
    }
    return ways
  }
}
