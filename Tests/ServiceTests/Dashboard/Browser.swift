import Foundation
import JSON
import Synchronization
import Testing
import Transport

/// A headless Chromium with one page, driven by its DevTools protocol: JSON messages that end with a
/// zero byte, over two pipes.
final class Browser: Sendable {
  /// Where it is installed, by the names that systems give it; nil if it is not.
  static let program = ["chromium", "chromium-browser", "google-chrome"]
    .lazy.compactMap { Subprocess.executable(named: $0) }.first
  static let isMissing: Comment = "chromium is not installed: deploy/test installs it"

  private struct State {
    var nextID = 1
    var waiting: [Int: CheckedContinuation<JSONValue, Never>] = [:]
    var session = ""
    var isOver = false
  }

  private let state = Mutex(State())
  private let commands: FileHandle
  private let loop: EventLoop

  private init(commands: FileHandle, loop: EventLoop) {
    self.commands = commands
    self.loop = loop
  }

  /// Opens a page while `body` runs.
  static func open(
    _ address: String, in world: World, _ body: (Browser) async throws -> Void
  ) async throws {
    let folder = world.folder.appendingPathComponent("browser-\(UUID().uuidString.prefix(6))")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    let paths = ["commands", "answers"].map { folder.appendingPathComponent($0).path }
    // Opened for both directions, so that neither side waits for the other.
    let pipes = try paths.map { path in
      try #require(mkfifo(path, 0o600) == 0)
      return try #require(FileHandle(forUpdatingAtPath: path))
    }
    let flags = [
      "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
      "--remote-debugging-pipe", "--no-first-run", "--disable-extensions", "--hide-scrollbars",
      "--disable-background-networking", "--disable-component-update", "--mute-audio",
      "--user-data-dir=\(folder.path)/profile", "about:blank",
    ]
    let process = try await Subprocess.start(
      "/bin/sh",
      arguments: [
        "-c", #"exec "$@" 3<"$0/commands" 4>"$0/answers""#, folder.path, try #require(program),
      ] + flags,
      environment: ["HOME=\(folder.path)", "PATH=/usr/local/bin:/usr/bin:/bin", "LANG=C.UTF-8"],
      outputPath: folder.appendingPathComponent("said.txt").path, on: world.loop)
    let browser = Browser(commands: pipes[0], loop: world.loop)
    let answers = pipes[1]
    Thread.detachNewThread { browser.read(answers) }
    do {
      try await browser.attach(to: address)
      try await body(browser)
    } catch {
      await browser.close(process, answers)
      throw error
    }
    await browser.close(process, answers)
  }

  private func close(_ process: Subprocess, _ answers: FileHandle) async {
    state.withLock { $0.isOver = true }
    process.signal(SIGKILL)
    _ = await process.waitForExit()
    // The reader holds the pipe open itself: it is told that it is over.
    try? answers.write(contentsOf: Data([0]))
  }

  private func read(_ answers: FileHandle) {
    var rest: [UInt8] = []
    while case let part = answers.availableData, !part.isEmpty {
      rest += part
      while let end = rest.firstIndex(of: 0) {
        take(Array(rest[..<end]))
        rest.removeSubrange(...end)
      }
      if state.withLock({ $0.isOver }) { break }
    }
    let left = state.withLock { state in
      defer { state.waiting = [:] }
      return Array(state.waiting.values)
    }
    for waiter in left { waiter.resume(returning: .null) }
  }

  private func take(_ message: [UInt8]) {
    let limits = JSONLimits(maxBytes: 64 << 20)  // a picture is long
    guard let value = try? JSONValue.parse(message, limits: limits), let id = value["id"]?.int64
    else { return }
    let waiter = state.withLock { $0.waiting.removeValue(forKey: Int(id)) }
    waiter?.resume(returning: value["result"] ?? value)
  }

  /// Sends a command of the protocol and waits for its result.
  @discardableResult
  func command(_ method: String, _ parameters: JSONValue = [:]) async throws -> JSONValue {
    await withCheckedContinuation { continuation in
      let message: JSONValue = state.withLock { state in
        let id = state.nextID
        state.nextID += 1
        state.waiting[id] = continuation
        var message: JSONObject = [
          "id": .number(JSONNumber(id)), "method": .string(method), "params": parameters,
        ]
        if !state.session.isEmpty { message["sessionId"] = .string(state.session) }
        return .object(message)
      }
      commands.write(Data(message.serialized() + [0]))
    }
  }

  private func attach(to address: String) async throws {
    let target = try await command("Target.createTarget", ["url": "about:blank"])
    let session = try await command(
      "Target.attachToTarget",
      ["targetId": try #require(target["targetId"]), "flatten": .bool(true)])
    let id = try #require(session["sessionId"]?.string, "\(session)")
    state.withLock { $0.session = id }
    try await command("Page.enable")
    try await command("Runtime.enable")
    try await show(width: 1_280, height: 900)
    try await command("Page.navigate", ["url": .string(address)])
  }

  // MARK: What a reader does and sees

  func show(width: Int, height: Int, isDark: Bool = false) async throws {
    try await command(
      "Emulation.setDeviceMetricsOverride",
      [
        "width": .number(JSONNumber(width)), "height": .number(JSONNumber(height)),
        "deviceScaleFactor": .number(JSONNumber(1)), "mobile": .bool(width < 600),
      ])
    try await command(
      "Emulation.setEmulatedMedia",
      [
        "features": [["name": "prefers-color-scheme", "value": isDark ? "dark" : "light"]]
      ])
  }

  /// The value of an expression in the page.
  func value(of expression: String) async throws -> JSONValue {
    let answer = try await command(
      "Runtime.evaluate",
      [
        "expression": .string(expression), "returnByValue": .bool(true),
        "awaitPromise": .bool(true),
      ])
    #expect(answer["exceptionDetails"] == nil, "\(expression): \(answer)")
    return answer["result"]?["value"] ?? .null
  }

  /// What can be read in the page, or in a part of it.
  func text(of selector: String = "body") async throws -> String {
    try await value(of: "document.querySelector('\(selector)')?.innerText ?? ''").string ?? ""
  }

  /// Waits until an expression in the page is true.
  func wait(
    until expression: String, sourceLocation: SourceLocation = #_sourceLocation
  ) async throws {
    for _ in 0..<1_500 {
      if try await value(of: expression).bool == true { return }
      try await loop.sleep(for: .milliseconds(20))
    }
    Issue.record(
      "\(expression) does not come true in: \(try await text())", sourceLocation: sourceLocation)
  }

  func waitForText(
    _ text: String, in selector: String = "body", sourceLocation: SourceLocation = #_sourceLocation
  ) async throws {
    let wanted = String(decoding: JSONValue.string(text).serialized(), as: UTF8.self)
    try await wait(
      until: "(document.querySelector('\(selector)')?.innerText ?? '').includes(\(wanted))",
      sourceLocation: sourceLocation)
  }

  /// Presses and lets go of a key, by its DOM name.
  func press(_ key: String, code: Int) async throws {
    for kind in ["rawKeyDown", "keyUp"] {
      var parameters: JSONObject = [
        "type": .string(kind), "key": .string(key),
        "windowsVirtualKeyCode": .number(JSONNumber(code)),
      ]
      if key == "Enter", kind == "rawKeyDown" {
        parameters["type"] = "keyDown"
        parameters["text"] = "\r"
      }
      try await command("Input.dispatchKeyEvent", .object(parameters))
    }
  }

  func type(_ text: String) async throws {
    try await command("Input.insertText", ["text": .string(text)])
  }

  /// Writes a picture of the page into the folder that `FIELDCAST_PICTURES` names, for people to
  /// look at; nothing without it.
  func picture(_ name: String, isWhole: Bool = false) async throws {
    guard let folder = ProcessInfo.processInfo.environment["FIELDCAST_PICTURES"] else { return }
    let answer = try await command(
      "Page.captureScreenshot",
      ["format": "png", "captureBeyondViewport": .bool(isWhole)])
    let data = try #require(Data(base64Encoded: answer["data"]?.string ?? ""))
    try data.write(to: URL(fileURLWithPath: folder).appendingPathComponent(name + ".png"))
  }
}
