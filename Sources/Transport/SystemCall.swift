internal import Glibc

/// A system call that failed: which one, and the system's word for why.
package struct SystemError: Error, Sendable, Equatable, CustomStringConvertible {
  package let call: String
  package let code: Int32

  package init(call: String, code: Int32) {
    self.call = call
    self.code = code
  }

  package var description: String { "\(call): \(Self.text(of: code))" }

  package static func text(of code: Int32) -> String { String(cString: strerror(code)) }
}

/// Runs a system call that answers -1 on failure; repeats it when a signal interrupted it.
///
/// - Throws: ``SystemError`` with the call's name.
@inline(__always)
@discardableResult
package func systemCall<T: FixedWidthInteger>(
  _ name: String, _ body: () -> T
) throws(SystemError) -> T {
  while true {
    let result = body()
    if result != -1 { return result }
    let code = errno
    if code != EINTR { throw SystemError(call: name, code: code) }
  }
}

/// What a read or a write on a non-blocking descriptor came to.
enum Transfer {
  case done(Int)
  case wouldBlock
  case failed(Int32)
}

/// Like ``systemCall(_:_:)`` for a transfer, where "would block" is a value and not an error.
@inline(__always)
func transfer(_ body: () -> Int) -> Transfer {
  while true {
    let count = body()
    if count >= 0 { return .done(count) }
    let code = errno
    if code == EINTR { continue }
    return code == EAGAIN || code == EWOULDBLOCK ? .wouldBlock : .failed(code)
  }
}
