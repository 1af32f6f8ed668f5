import Foundation

/// Programs of others that these tests run, as deploy/lib.sh installs them.
enum Installed {
  static let curl = program("/usr/bin/curl")
  static let nghttpd = program("/usr/sbin/nghttpd") ?? program("/usr/bin/nghttpd")
  static let nginx = program(build("servers/usr/sbin/nginx")) ?? program("/usr/sbin/nginx")
  /// The interpreter of a virtual environment with the clients that `Clients/requirements.txt`
  /// names.
  static let python = program(build("clients/bin/python"))

  /// Why something is not there, as the script that tried to install it says.
  static func reason(_ name: String) -> String {
    let text = try? String(contentsOfFile: build("\(name).missing"), encoding: .utf8)
    return text?.trimmingCharacters(in: .whitespacesAndNewlines)
      ?? "\(name) was not installed; deploy/test does it"
  }

  static let folder = URL(fileURLWithPath: #filePath)
    .deletingLastPathComponent().deletingLastPathComponent()

  private static func build(_ path: String) -> String {
    folder.deletingLastPathComponent().deletingLastPathComponent()
      .appendingPathComponent(".build/\(path)").path
  }

  private static func program(_ path: String) -> String? {
    FileManager.default.isExecutableFile(atPath: path) ? path : nil
  }
}
