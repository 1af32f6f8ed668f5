internal import JSON
internal import LoadHarness

/// What the commands about channels take, and how they write what the service says of each app.
enum ChannelsOutput {
  static let token = ServiceCaller.token(for: "admin")
  static let json = Option<Bool>.flag("json", help: "Writes the service's answer, a JSON object.")

  /// - Parameter text: an app's lines.
  static func write(
    _ answer: ServiceCaller.Answer, asJSON: Bool, _ text: (JSONValue, Style) -> [String]
  ) {
    guard !asJSON else { return Terminal.output.writeLine(answer.text) }
    let style = Terminal.output.style
    let apps = (answer.value["apps"]?.array ?? []).map { text($0, style) }
    Terminal.output.write(
      apps.map { $0.joined(separator: "\n") + "\n" }.joined(separator: "\n"))
  }

  static func heading(of app: JSONValue, _ style: Style) -> String {
    style.heading("\(app["bundleID"]?.string ?? "") \(app["environment"]?.string ?? "")")
  }
}
