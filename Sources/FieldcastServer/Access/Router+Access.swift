internal import HTTP

extension RoutedRequest {
  /// What its caller may do.
  ///
  /// - Parameter access: nil lets everybody do everything.
  func scopes(by access: AccessList?) -> Set<AccessScope> {
    guard let access else { return Set(AccessScope.allCases) }
    let authorization = request.fields["authorization"]
    return Set(
      AccessScope.allCases.filter {
        if case .allowed = access.judge(authorization: authorization, for: [$0]) { return true }
        return false
      })
  }
}

extension Router {
  /// Adds a route for callers whose token has one of some scopes.
  ///
  /// - Parameter access: nil lets everybody call.
  mutating func on(
    _ method: String, _ template: String, for scopes: Set<AccessScope>, by access: AccessList?,
    bodyLimit: Int = 65_536, _ handler: @escaping Handler
  ) {
    guard let access else { return on(method, template, bodyLimit: bodyLimit, handler) }
    on(method, template, bodyLimit: bodyLimit) { routed in
      switch access.judge(authorization: routed.request.fields["authorization"], for: scopes) {
      case .allowed: return await handler(routed)
      case .stranger(let hasToken): return .response(Self.unauthorized(hasToken: hasToken))
      case .outOfScope(let holder):
        let wanted = scopes.map(\.rawValue).sorted().joined(separator: " or ")
        return .response(
          ProblemDocument(
            status: 403, kind: "wrong-scope", title: "The token is not for this",
            detail: "The token of \(holder) lacks the scope \(wanted)."
          ).response)
      }
    }
  }

  private static func unauthorized(hasToken: Bool) -> HTTPResponse {
    var response = ProblemDocument(
      status: 401, kind: "unauthorized", title: "A token is needed",
      detail: hasToken
        ? "The token is not on this service's list. Was it mistyped, or taken off?"
        : "Send a token as authorization: Bearer TOKEN. fieldcast token makes one."
    ).response
    response.fields["www-authenticate"] =
      #"Bearer realm="fieldcast""# + (hasToken ? #", error="invalid_token""# : "")
    return response
  }
}
