/// What an examination found of one thing.
package struct Finding: Sendable, Hashable {
  package enum Severity: String, Sendable, CaseIterable, Comparable {
    /// It is as it should be.
    case good
    /// It could not be looked at.
    case unknown
    /// It works, and could work better or may fail one day.
    case advice
    /// It must be changed: work is lost or stands still.
    case wrong

    package static func < (left: Self, right: Self) -> Bool { left.rank < right.rank }

    private var rank: Int { Self.allCases.firstIndex(of: self) ?? 0 }
  }

  package var severity: Severity
  /// What it is about, such as `redis` or an app.
  package var subject: String
  /// A word for scripts, such as `maxmemory-policy`.
  package var code: String
  /// What is so, with numbers.
  package var what: String
  /// Why it matters; empty for what is good.
  package var why: String
  /// The command or setting that mends it; empty if there is none.
  package var mend: String

  package init(
    _ severity: Severity, _ subject: String, _ code: String, _ what: String, why: String = "",
    mend: String = ""
  ) {
    self.severity = severity
    self.subject = subject
    self.code = code
    self.what = what
    self.why = why
    self.mend = mend
  }
}

/// What is known of one thing, to be judged.
package protocol Facts: Sendable {
  /// What findings about it are under.
  var subject: String { get }
  var findings: [Finding] { get }
}

extension Facts {
  func finding(
    _ severity: Finding.Severity, _ code: String, _ what: String, why: String = "",
    mend: String = ""
  ) -> Finding {
    Finding(severity, subject, code, what, why: why, mend: mend)
  }
}
