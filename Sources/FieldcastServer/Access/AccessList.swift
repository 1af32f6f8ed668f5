internal import Crypto

/// What a caller of REST may do.
package enum AccessScope: String, CaseIterable, Sendable {
  /// Create, read, change and end trips; let members join and leave.
  case trips
  /// Hand in captures.
  case notes
  /// Register devices and tokens; join and leave.
  case devices
  /// Send notifications.
  case push
  /// Channels and metrics.
  case admin

  package static let names = allCases.map(\.rawValue).joined(separator: ", ")
}

/// Who may call REST: the holders of tokens, of which only hashes are known.
///
/// A line of the list is a holder's name, its scopes, and the SHA-256 of its token:
///
///     field-app  trips,notes  sha256:9f86d081884c7d65…
///
/// Tokens are made by ``AccessToken`` and cannot be guessed, so a plain hash keeps them.
package struct AccessList: Sendable {
  struct Holder: Sendable {
    var name: String
    var scopes: Set<AccessScope>
    var digest: [UInt8]
  }

  enum Verdict: Sendable, Equatable {
    case allowed(holder: String)
    /// The token is not on the list.
    case stranger
    case outOfScope(holder: String)
  }

  let holders: [Holder]

  /// - Throws: when a line cannot be understood, with its number; empty lines and those that begin
  ///   with `#` are passed over.
  package init(parsing text: String) throws(AccessListError) {
    var holders: [Holder] = []
    let lines = text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline)
    for (index, line) in lines.enumerated() {
      let words = line.split(whereSeparator: \.isWhitespace)
      guard let first = words.first, !first.hasPrefix("#") else { continue }
      let holder = try Self.holder(words, line: index + 1)
      if holders.contains(where: { $0.name == holder.name && $0.digest == holder.digest }) {
        throw AccessListError(line: index + 1, "\(holder.name) is there twice with one token")
      }
      holders.append(holder)
    }
    guard !holders.isEmpty else {
      throw AccessListError(
        line: nil, "it names nobody, so nobody could call; fieldcast token makes an entry")
    }
    self.holders = holders
  }

  private static func holder(
    _ words: [Substring], line: Int
  ) throws(AccessListError) -> Holder {
    guard words.count == 3 else {
      throw AccessListError(
        line: line, "it has \(words.count) words; NAME SCOPES sha256:HASH are wanted")
    }
    var scopes: Set<AccessScope> = []
    for word in words[1].split(separator: ",") {
      guard let scope = AccessScope(rawValue: String(word)) else {
        throw AccessListError(
          line: line, "there is no scope \(word); there are \(AccessScope.names)")
      }
      scopes.insert(scope)
    }
    guard words[2].hasPrefix("sha256:"), let digest = bytes(words[2].dropFirst(7)),
      digest.count == 32
    else {
      throw AccessListError(
        line: line, "its third word is not sha256: and 64 hexadecimal digits")
    }
    return Holder(name: String(words[0]), scopes: scopes, digest: digest)
  }

  private static func bytes(_ text: Substring) -> [UInt8]? {
    let digits = text.compactMap(\.hexDigitValue)
    guard digits.count == text.count, digits.count.isMultiple(of: 2) else { return nil }
    return stride(from: 0, to: digits.count, by: 2).map { UInt8(digits[$0] << 4 | digits[$0 + 1]) }
  }

  /// All that a token allows; nothing for one that is not on the list.
  func scopes(of token: Substring) -> Set<AccessScope> {
    holders(of: token).reduce(into: []) { $0.formUnion($1.scopes) }
  }

  /// Judges a token.
  ///
  /// - Parameter scopes: one of these is enough.
  func judge(_ token: Substring, for scopes: Set<AccessScope>) -> Verdict {
    let found = holders(of: token)
    guard let first = found.first else { return .stranger }
    let fitting = found.last { !$0.scopes.isDisjoint(with: scopes) }
    return fitting.map { .allowed(holder: $0.name) } ?? .outOfScope(holder: first.name)
  }

  /// Compares hashes, all of them, each in the same time: how long it takes tells nothing of a token.
  private func holders(of token: Substring) -> [Holder] {
    let digest = AccessToken.digest(of: token)
    return holders.filter { Digest.isEqual($0.digest, digest) }
  }
}

/// Why a list of tokens cannot be used.
package struct AccessListError: Error, Sendable, CustomStringConvertible {
  /// Counted from 1; nil where it is the whole list.
  package let line: Int?
  let reason: String

  init(line: Int?, _ reason: String) {
    self.line = line
    self.reason = reason
  }

  package var description: String { (line.map { "line \($0): " } ?? "") + reason }
}
