internal import FieldcastServer
internal import JSON

/// `fieldcast token`: makes a token for REST.
package enum TokenCommand: Command {
  static let scopes = Option<String>.text(
    "scopes", "LIST", default: "trips,notes",
    help: "What its holder may do, separated by commas: \(AccessScope.names).")
  static let json = Option<Bool>.flag("json", help: "Writes both as a JSON object.")

  package static let help = CommandHelp(
    "token", summary: "Makes a token for callers of REST",
    discussion: """
      Shows a new token and the line that lets it in. The line goes into the file that `fieldcast \
      serve --tokens` names; it holds only a hash. The token goes to its holder, who sends it with \
      each request as authorization: Bearer TOKEN. It cannot be shown again.
      """,
    positionals: [
      CommandHelp.Positional("NAME", help: "Of the holder, for people; without blanks.")
    ],
    options: [scopes.spec, json.spec],
    examples: [
      "fieldcast token field-app",
      "fieldcast token dashboard --scopes trips,admin --json",
    ],
    statuses: [.badInput])

  package static func run(_ arguments: ParsedArguments) async throws -> ExitStatus {
    let name = arguments.positionals[0]
    guard !name.isEmpty, !name.hasPrefix("#"), !name.contains(where: \.isWhitespace) else {
      throw CommandFailure(.badInput, "The name \"\(name)\" has blanks, or begins with #.")
    }
    var scopes: [AccessScope] = []
    for word in arguments[self.scopes].split(separator: ",") {
      guard let scope = AccessScope(rawValue: String(word)) else {
        throw CommandFailure(
          .badInput, "There is no scope \(word). There are \(AccessScope.names).")
      }
      if !scopes.contains(scope) { scopes.append(scope) }
    }
    guard !scopes.isEmpty else {
      throw CommandFailure(.badInput, "A token without a scope is for nothing.")
    }
    let token = AccessToken()
    let entry = token.entry(name: name, scopes: scopes)
    if arguments[json] {
      var object = JSONObject()
      object["token"] = .string(token.text)
      object["entry"] = .string(entry)
      Terminal.output.writeLine(JSONValue.object(object).serializedText)
    } else {
      Terminal.output.write(
        """
        The token, for its holder:
          \(token.text)
        The line, for the file that fieldcast serve --tokens names:
          \(entry)

        """)
    }
    return .success
  }
}
