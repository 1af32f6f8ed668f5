internal import Glibc
internal import LoadHarness

/// Where a command's product goes.
enum OutputFile {
  /// Writes the whole text to a file, or to the standard output if there is no path.
  ///
  /// A file is replaced at once or not at all: it is written beside its place and then renamed.
  static func write(_ text: String, to path: String?) throws(CommandFailure) {
    guard let path, path != "-" else {
      Terminal.output.write(text)
      return
    }
    let partial = "\(path).\(getpid()).part"
    guard let file = fopen(partial, "wx") else { throw failure(path, errno) }
    let bytes = Array(text.utf8)
    let written = fwrite(bytes, 1, bytes.count, file)
    let closed = fclose(file)
    guard written == bytes.count, closed == 0, rename(partial, path) == 0 else {
      let code = errno
      unlink(partial)
      throw failure(path, code)
    }
  }

  private static func failure(_ path: String, _ code: Int32) -> CommandFailure {
    CommandFailure(.cannotCreate, "\(path) cannot be written: \(String(cString: strerror(code))).")
  }
}

/// What a trace file's fault means for the exit status.
enum TraceFailure {
  static func translated<Value>(
    _ body: () throws(TraceFileError) -> Value
  ) throws(CommandFailure) -> Value {
    do {
      return try body()
    } catch {
      throw CommandFailure(status(of: error), "\(error)")
    }
  }

  private static func status(of error: TraceFileError) -> ExitStatus {
    switch error {
    case .notATrace, .tooLarge: .badInput
    case .cannotRead, .notInFolder, .emptyFolder: .noInput
    }
  }
}
