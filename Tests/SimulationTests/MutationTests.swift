import Foundation
import Testing

/// The simulation finds what breaks the rules: each mistake that is made on purpose shows itself
/// within some seeds.
@Suite struct `A mistake on purpose` {
  /// Those that show themselves soon; all of them with FIELDCAST_SIMULATION_MISTAKES=all.
  private static let mistakes: [Mutation] =
    ProcessInfo.processInfo.environment["FIELDCAST_SIMULATION_MISTAKES"] == "all"
    ? Mutation.allCases
    : [
      .duplicatesTaken, .bytesResent, .dueRemoved, .commitTorn, .endForgotten,
      .unpublishedForgotten, .timestampsIgnored,
    ]
  private static let mostSeeds: UInt64 = 120

  @Test(arguments: mistakes)
  func `is found`(mistake: Mutation) throws {
    for seed in 1...Self.mostSeeds {
      if try !Simulation(seed: seed, mutation: mistake).run().violations.isEmpty { return }
    }
    Issue.record("\(mistake) was not found in \(Self.mostSeeds) seeds")
  }
}
