/// One reply of a Redis server, copied out of the connection's buffer.
///
/// RESP2 only: maps come as arrays of alternating keys and values, booleans as integers.
package enum RESPValue: Sendable, Hashable {
  /// A status line such as `OK` or `QUEUED`.
  case simple(String)
  /// An error reply. Calls throw it as ``RedisError/refused(_:)``; inside an array (a transaction,
  /// a script's table) it stays a value.
  case error(RedisRefusal)
  case integer(Int64)
  /// Any bytes, also none, also such that are not text.
  case bulk([UInt8])
  /// Nothing there: a missing key, a timeout of a blocking read, an aborted transaction.
  case null
  case array([RESPValue])

  /// What kind of value this is, for messages; never its content.
  package var kindName: String {
    switch self {
    case .simple: "a status"
    case .error: "an error"
    case .integer: "an integer"
    case .bulk(let bytes): "a string of \(bytes.count) bytes"
    case .null: "nothing"
    case .array(let values): "an array of \(values.count)"
    }
  }
}
