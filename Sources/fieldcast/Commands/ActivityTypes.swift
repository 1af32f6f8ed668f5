internal import FieldTrips

/// The activity types that a command works with.
enum ActivityTypes {
  /// Those of the file that the arguments name, or the built-in ones.
  static func read(from arguments: ParsedArguments) throws(CommandFailure) -> [ActivityType] {
    guard let path = arguments[ServiceOptions.activityTypes] else { return ActivityType.builtIn }
    let bytes = try bytes(of: path)
    do throws(Refusal) {
      return try ActivityTypeFile.read(bytes).types
    } catch {
      let problems = error.problems.map { "  " + $0.text }
      throw CommandFailure(
        .configuration,
        "The activity types in \(path) cannot be used:\n" + problems.joined(separator: "\n"))
    }
  }

  static func bytes(of path: String) throws(CommandFailure) -> [UInt8] {
    guard let bytes = InputFile.bytes(at: path) else {
      throw CommandFailure(
        .noInput,
        "The activity types in \(path) cannot be read. `fieldcast types show` writes a file to "
          + "start from.")
    }
    return bytes
  }
}
