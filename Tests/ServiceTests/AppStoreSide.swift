import APNsSimulator
import FieldcastServer
import Foundation

/// The other environment's APNs, where the app from the store is at home.
struct AppStoreSide: Sendable {
  let simulator: RunningSimulator
  let app: AppConfiguration

  /// - Parameter bundleID: nil is the world's.
  static func start(
    beside world: World, bundleID: String? = nil
  ) async throws -> AppStoreSide {
    var configuration = SimulatorConfiguration()
    configuration.environment = .production
    // Keys of one name and team are taken for one key.
    configuration.apps = [
      SimulatedAppSettings(bundleID: bundleID ?? world.bundleID, teamID: "FIELDCAST2")
    ]
    let simulator = try await Simulator.start(
      configuration, clock: world.clock, loop: world.loop,
      folder: world.folder.appendingPathComponent("store").path)
    return AppStoreSide(
      simulator: simulator, app: try AppConfiguration(of: simulator, environment: .production))
  }
}
