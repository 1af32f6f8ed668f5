/// Whether a person can see this character: letters, marks, numbers, punctuation, symbols and the
/// plain space. Controls, invisible formatting, private and unassigned code points are not.
func isPrintable(_ scalar: Unicode.Scalar) -> Bool {
  if scalar.isASCII { return scalar.value >= 0x20 && scalar.value < 0x7F }
  switch scalar.properties.generalCategory {
  case .control, .format, .surrogate, .privateUse, .unassigned, .lineSeparator,
    .paragraphSeparator, .spaceSeparator:
    return false
  default:
    return true
  }
}

/// `U+0007`.
func codePoint(_ scalar: Unicode.Scalar) -> String {
  let digits = String(scalar.value, radix: 16, uppercase: true)
  return "U+" + String(repeating: "0", count: max(0, 4 - digits.count)) + digits
}

/// A stranger's text as it may stand in a message: in quotes, at most 40 characters, with what
/// cannot be printed written as a code point.
func quoted(_ text: some StringProtocol) -> String {
  var output = "\""
  var count = 0
  for scalar in text.unicodeScalars {
    if count == 40 { return output + "…\"" }
    if isPrintable(scalar) {
      output.unicodeScalars.append(scalar)
    } else {
      output += "<" + codePoint(scalar) + ">"
    }
    count += 1
  }
  return output + "\""
}
