internal import APNs
internal import Clocks
internal import TripStore

/// Lets all nodes use one provider token, by way of Redis.
struct SharedTokens: ProviderTokenStore {
  let store: TripStore
  let key: ProviderKey
  let log: ServiceLog

  func agree(
    on candidate: ProviderToken, replacing previous: ProviderToken?
  ) async throws -> ProviderToken {
    // What is older than the one that has to go, or about to be too old, is of no use.
    var since = candidate.issuedAt - ProviderTokenSource.renewalAge
    if let previous { since = max(since, previous.issuedAt + .seconds(1)) }
    do throws(StoreError) {
      let agreed = try await store.shareProviderToken(
        teamID: key.teamID.text, keyID: key.keyID.text,
        candidate: SharedProviderToken(jwt: candidate.text, mintedAt: candidate.issuedAt),
        usableSince: since)
      return ProviderToken(text: agreed.jwt, issuedAt: agreed.mintedAt)
    } catch {
      log.warning(
        "no provider token could be agreed on with the other nodes; this node uses its own",
        ["team": key.teamID.text, "key": key.keyID.text, "reason": "\(error)"])
      throw error
    }
  }
}
