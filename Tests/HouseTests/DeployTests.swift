import Foundation
import Testing
import Transport

@testable import fieldcast

/// What `deploy/` holds for those who run the service, as far as it can be judged here.
@Suite final class `The deployment files` {
  private let folder: TemporaryFolder
  private let loop: EventLoop

  init() throws {
    folder = try TemporaryFolder(for: "deploy")
    loop = try EventLoop(name: "deploy")
  }

  deinit {
    loop.stop()
    folder.remove()
  }

  /// - Returns: what the program said, if it did not like it.
  private func complaint(_ program: String, _ words: String...) async throws -> String? {
    let said = folder.path + "/said"
    let process = try await Subprocess.start(
      program, arguments: words, environment: ["PATH=/usr/sbin:/usr/bin:/sbin:/bin"],
      outputPath: said, on: loop)
    let status = await process.waitForExit()
    return status == 0 ? nil : "\(status): \(try String(contentsOfFile: said, encoding: .utf8))"
  }

  private func write(_ text: String, as name: String) throws -> String {
    let path = folder.path + "/" + name
    try text.write(toFile: path, atomically: false, encoding: .utf8)
    return path
  }

  @Test func `name settings that exist`() throws {
    let known = Set(
      CommandLineInterface.commands.flatMap { $0.help.options.compactMap(\.environment) })
    for file in House.files
    where file.hasPrefix("deploy/") && !["deploy/test", "deploy/sanitize"].contains(file) {
      for line in try House.lines(of: file, holding: "FIELDCAST_") {
        for match in line.text.matches(of: /FIELDCAST_[A-Z_]+/) {
          #expect(known.contains(String(match.output)), "\(file):\(line.number) \(match.output)")
        }
      }
    }
  }

  @Test(.enabled(if: Subprocess.executable(named: "systemd-analyze") != nil))
  func `have a unit that systemd understands`() async throws {
    let unit = try House.text(of: "deploy/systemd/fieldcast.service")
    #expect(unit.contains("Type=notify"))
    // What it starts need not be installed here.
    let path = try write(
      unit.replacing("/usr/local/bin/fieldcast", with: "/bin/true"), as: "fieldcast.service")
    let analyze = try #require(Subprocess.executable(named: "systemd-analyze"))
    #expect(try await complaint(analyze, "verify", "--man=no", path) == nil)
    let broken = try write(unit.replacing("Type=notify", with: "Type=often"), as: "broken.service")
    #expect(try await complaint(analyze, "verify", "--man=no", broken) != nil)
  }

  @Test(.enabled(if: Subprocess.executable(named: "nginx") != nil))
  func `have a configuration that nginx understands`() async throws {
    let site = try House.text(of: "deploy/nginx/fieldcast.conf")
      // A certificate and a privileged port are not to be had here.
      .replacing("listen 443 ssl http2;", with: "listen 127.0.0.1:1443;")
      .replacing(/[ ]*ssl_[^\n]*\n/, with: "")
    let path = try write(
      """
      pid \(folder.path)/nginx.pid;
      error_log stderr;
      events {}
      http {
        access_log off;
        client_body_temp_path \(folder.path)/body;
        proxy_temp_path \(folder.path)/proxy;
        fastcgi_temp_path \(folder.path)/fastcgi;
        uwsgi_temp_path \(folder.path)/uwsgi;
        scgi_temp_path \(folder.path)/scgi;
        \(site)
      }
      """, as: "nginx.conf")
    let nginx = try #require(Subprocess.executable(named: "nginx"))
    #expect(try await complaint(nginx, "-t", "-q", "-c", path, "-p", folder.path) == nil)
  }
}
