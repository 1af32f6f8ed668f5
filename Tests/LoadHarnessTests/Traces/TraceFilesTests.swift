import FieldTrips
import Foundation
import Testing

@testable import LoadHarness

@Suite struct `Trace files` {
  private func chosen(_ wanted: String?, _ folder: String?) throws -> CaptureTrace {
    try TraceFiles.choose(wanted, folder: folder)
  }

  private func message(_ body: () throws -> CaptureTrace) -> String? {
    do {
      _ = try body()
      return nil
    } catch {
      return "\(error)"
    }
  }

  /// A folder with a walk of 60 s and a hike of 600 s, and what is no trace.
  private func withFolder(_ body: (String) throws -> Void) throws {
    let folder = FileManager.default.temporaryDirectory
      .appendingPathComponent("fieldcast-traces-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let header = "offset_s,observer,place\n0,o1,Pond\n"
    for (name, text) in [
      ("hike-long.csv", header + "600,o1,Hill\n"), ("walk-short.csv", header + "60,o1,Pond\n"),
      ("README.md", "Not a trace."), (".hidden.csv", "Not one either."),
    ] {
      try Data(text.utf8).write(to: folder.appendingPathComponent(name))
    }
    try body(folder.path)
  }

  @Test func `are an invented outing where nobody names any`() throws {
    let trace = try TraceFiles.choose(nil, folder: nil)
    #expect(trace.kind == .generated(seed: 1))
  }

  @Test func `are the shortest of a folder, or one of it by the beginning of its name`() throws {
    try withFolder { folder in
      #expect(try chosen(nil, folder).name == "walk-short")
      #expect(try chosen("hike", folder).name == "hike-long")
      #expect(try chosen("hike-long", folder).kind == .file)
      #expect(try chosen(nil, folder + "/hike-long.csv").name == "hike-long")
      #expect(try chosen(folder + "/walk-short.csv", nil).captures.count == 2)
      let all = try TraceFiles.all(at: folder)
      #expect(all.map(\.name) == ["hike-long", "walk-short"])
      #expect(
        message { try chosen("swim", folder) }
          == "No file is called swim, and \(folder) has hike-long, walk-short.")
    }
  }

  @Test func `are iNaturalist exports too`() throws {
    try withFolder { folder in
      let path = folder + "/observations.csv"
      let text =
        "observed_on_string,user_login,place_guess\n2021-05-01 10:00,anna,\"Marsh, Wien\"\n"
      try Data(text.utf8).write(to: URL(fileURLWithPath: path))
      let trace = try TraceFiles.load(path)
      #expect(trace.kind == .iNaturalistExport)
      #expect(trace.name == "inaturalist-2021-05-01")
    }
  }

  @Test func `say what is wrong with a file`() throws {
    try withFolder { folder in
      #expect(
        message { try chosen(folder + "/no.csv", nil) }
          == "\(folder)/no.csv cannot be read: No such file or directory.")
      #expect(
        message { try chosen(folder + "/README.md", nil) }?
          .hasPrefix("\(folder)/README.md is no trace. Line 1: ") == true)
      #expect(
        message { try chosen("far-away.csv", nil) }
          == "far-away.csv cannot be read: No such file or directory.")
    }
  }
}
