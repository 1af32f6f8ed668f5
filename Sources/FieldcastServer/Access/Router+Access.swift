internal import HTTP

extension RoutedRequest {
  /// What its caller may do: everything, where nobody is asked who it is.
  func scopes(by door: Doorkeeper) -> Set<AccessScope> {
    guard door.list != nil || door.members != nil else { return Set(AccessScope.allCases) }
    guard let list = door.list, let token = Doorkeeper.bearer(request.fields["authorization"])
    else { return [] }
    return list.scopes(of: token)
  }
}

extension Router {
  typealias AdmittedHandler = @Sendable (RoutedRequest, Caller) async -> HTTPReply

  /// Adds a route for callers who have one of some scopes.
  mutating func on(
    _ method: String, _ template: String, for scopes: Set<AccessScope>, by door: Doorkeeper,
    _ handler: @escaping Handler
  ) {
    add(method, template, scopes, door, membersMay: false) { routed, _ in await handler(routed) }
  }

  /// The same, for a handler that must know who calls.
  mutating func onKnown(
    _ method: String, _ template: String, for scopes: Set<AccessScope>, by door: Doorkeeper,
    _ handler: @escaping AdmittedHandler
  ) {
    add(method, template, scopes, door, membersMay: false, handler)
  }

  /// Adds a route that members may use for themselves, too: the handler sees to it that it is for
  /// nobody else.
  mutating func onOwn(
    _ method: String, _ template: String, for scopes: Set<AccessScope>, by door: Doorkeeper,
    _ handler: @escaping AdmittedHandler
  ) {
    add(method, template, scopes, door, membersMay: true, handler)
  }

  private mutating func add(
    _ method: String, _ template: String, _ scopes: Set<AccessScope>, _ door: Doorkeeper,
    membersMay: Bool, _ handler: @escaping AdmittedHandler
  ) {
    on(method, template, bodyLimit: Routes.smallBody) { routed in
      switch await door.admit(routed, for: scopes, membersMay: membersMay) {
      case .admitted(let caller): await handler(routed, caller)
      case .refused(let response): .response(response)
      }
    }
  }
}
