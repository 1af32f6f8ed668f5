internal import Clocks
internal import Transport

/// Leads connections of their own, such as ones that block, to the master of a key's slot.
struct SlotLocator: RedisLocator {
  let cluster: RedisCluster
  let slot: Int

  func locate(before end: Moment) async throws(RedisError) -> RedisConfiguration {
    try await cluster.master(of: slot)
  }

  func noteWrong(_ configuration: RedisConfiguration) async {
    await cluster.lookAgain(hint: nil)
  }
}

/// Leads connections to any node of a cluster: all hear what is published.
struct AnyNodeLocator: RedisLocator {
  let cluster: RedisCluster

  func locate(before end: Moment) async throws(RedisError) -> RedisConfiguration {
    try await cluster.anyNode()
  }

  func noteWrong(_ configuration: RedisConfiguration) async {
    await cluster.lookAgain(hint: nil)
  }
}

extension RedisCluster {
  fileprivate func master(of slot: Int) async throws(RedisError) -> RedisConfiguration {
    if routes.map.isEmpty { await lookAgain(hint: nil) }
    guard let address = routes.map.master(of: slot) else { throw noMaster(of: slot) }
    return configuration.at(address)
  }

  fileprivate func anyNode() async throws(RedisError) -> RedisConfiguration {
    if routes.map.isEmpty { await lookAgain(hint: nil) }
    guard let address = routes.map.nodes.randomElement() else { throw noMaster(of: nil) }
    var configuration = configuration.at(address)
    configuration.requiresPrimary = false
    return configuration
  }
}
