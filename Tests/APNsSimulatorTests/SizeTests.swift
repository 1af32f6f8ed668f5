import APNsSimulator
import Clocks
import Glibc
import Testing

/// Small runs of what the load harness does at length, so that it cannot rot.
@Suite struct `Many phones` {
  private let initial = Array(#"{"notesCaptured":0}"#.utf8)

  /// Resident memory of this process in bytes.
  private func residentBytes() throws -> Int {
    let text = try Scratch.read("/proc/self/statm")
    let pages = text.split(separator: " ").dropFirst().first.flatMap { Int($0) }
    return (try #require(pages)) * 4096
  }

  @Test func `that are a million take little room while they are alike`() throws {
    var world = try World { $0.channels.storingBudget = nil }
    var channels: [String] = []
    for _ in 1...100 { channels.append(try world.createChannel()) }
    let before = try residentBytes()
    for channelID in channels {
      _ = try world.apns.addCrowd(
        10_000, bundleID: World.bundleID, channelID: channelID, contentState: initial,
        now: world.now)
    }
    for notes in 1...50 {
      world.wait(1)
      for channelID in channels { try world.publish(notes, on: channelID) }
    }
    world.wait(1)
    var converged = 0
    for channelID in channels {
      let summary = try world.apns.convergence(World.bundleID, channelID, now: world.now)
      converged += summary.showingNewest
    }
    #expect(converged == 1_000_000)
    let grown = try residentBytes() - before
    #expect(grown < 100_000_000, "\(grown) bytes")
  }
}
