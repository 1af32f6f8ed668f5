import Transport

/// The one thread of all clients that were given none: made at first use, and never stopped, since
/// a client may be called as long as somebody holds it.
enum SharedLoop {
  private static let loop: Result<EventLoop, SystemError> = Result {
    () throws(SystemError) in try EventLoop(name: "apns")
  }

  static func get() throws(APNsSetupError) -> EventLoop {
    do throws(SystemError) {
      return try loop.get()
    } catch {
      throw .system("\(error)")
    }
  }
}
