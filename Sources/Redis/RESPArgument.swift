/// What may stand in a command: it knows how to write itself as one argument or several.
package protocol RESPArgument {
  /// How many arguments it writes; 1 for all but ``Spread``.
  var argumentCount: Int { get }
  func write(to writer: inout RESPWriter)
}

extension RESPArgument {
  package var argumentCount: Int { 1 }
}

extension String: RESPArgument {
  package func write(to writer: inout RESPWriter) { writer.append(self) }
}

extension StaticString: RESPArgument {
  package func write(to writer: inout RESPWriter) { writer.append(self) }
}

extension [UInt8]: RESPArgument {
  package func write(to writer: inout RESPWriter) { writer.append(self) }
}

extension ArraySlice<UInt8>: RESPArgument {
  package func write(to writer: inout RESPWriter) { writer.append(self) }
}

extension Int: RESPArgument {
  package func write(to writer: inout RESPWriter) { writer.append(Int64(self)) }
}

extension Int64: RESPArgument {
  package func write(to writer: inout RESPWriter) { writer.append(self) }
}

/// A list whose elements become arguments of their own: `RedisCommand("DEL", Spread(keys))`.
package struct Spread<Element: RESPArgument>: RESPArgument {
  package let elements: [Element]

  package init(_ elements: [Element]) { self.elements = elements }

  package var argumentCount: Int {
    var count = 0
    for element in elements { count += element.argumentCount }
    return count
  }

  package func write(to writer: inout RESPWriter) {
    for element in elements { element.write(to: &writer) }
  }
}
