internal import APNs

/// What the service asks of APNs, for one app; ``APNsClient`` answers it over the network.
protocol PushService: Sendable {
  func broadcast(_ broadcast: Broadcast, deadline: Duration) async -> BroadcastResult

  func createChannel(
    storage: ChannelStorage, requestID: String?, deadline: Duration
  ) async -> ChannelResult<ChannelID>
  func deleteChannel(_ channelID: ChannelID, deadline: Duration) async -> ChannelResult<Void>
  func listChannels(deadline: Duration) async -> ChannelResult<[ChannelID]>

  func push(_ push: Push, to tokens: [DeviceToken], deadline: Duration) async -> [PushResult]
  func push(_ items: [AddressedPush], deadline: Duration) async -> [PushResult]
}

extension APNsClient: PushService {}
