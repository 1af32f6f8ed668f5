import APNs

// What a program does with the library, from the key to the last result. This file is built without
// access to anything but what the library publishes, and run against the simulator.

/// Shows a train's delay on every phone that follows it.
func announceDelay(
  of train: String, key pem: String, teamID: String, keyID: String, bundleID: String,
  hosts: APNsHosts? = nil
) async throws -> [String] {
  var log: [String] = []
  let key = try ProviderKey(teamID: teamID, keyID: keyID, pem: pem)
  let client = try APNsClient(
    app: APNsApp(bundleID: try BundleID(bundleID), environment: .development),
    credentials: .token(ProviderCredentials(key: key)), hosts: hosts)

  // A channel first, since phones subscribe to it by the push that starts their Live Activity.
  let channel = try await client.createChannel(storage: .mostRecent).get()
  let start = try Push(
    LiveActivityPayload(
      .start(
        LiveActivityPayload.Start(
          attributesType: "TrainAttributes",
          attributes: try JSONText(validating: #"{"train":"\#(train)"}"#),
          alert: LiveActivityAlert(title: .plain(train), body: .plain("Boarding")),
          input: .channel(channel))),
      timestampSeconds: 1_790_000_000,
      contentState: try JSONText(validating: #"{"phase":"boarding"}"#)),
    expiration: .until(UnixTime(wholeSeconds: 1_790_000_600)), collapseID: train)
  guard let phone = DeviceToken(String(repeating: "0a", count: 80)) else { return log }
  switch await client.push(start, to: phone) {
  case .accepted(let id, _): log.append("started, \(id ?? "")")
  case .refused(let refusal) where refusal.disposition == .dropToken: log.append("forget it")
  case .refused(let refusal): log.append("\(refusal)")
  case .notSent(let failure): log.append("not sent: \(failure)")
  case .unknown(let failure): log.append("perhaps sent: \(failure)")
  }

  // Then one request for all phones, whatever their number.
  let update = BroadcastPayload(
    .update(), timestampSeconds: 1_790_000_060,
    contentState: try JSONText(validating: #"{"phase":"delayed","minutes":15}"#))
  let result = await client.broadcast(
    try Broadcast(to: channel, storage: .mostRecent, priority: .considerate, update))
  if case .accepted = result { log.append("delay announced") } else { log.append("\(result)") }

  let end = BroadcastPayload(.end(), timestampSeconds: 1_790_000_120, contentState: nil)
  _ = await client.broadcast(
    try Broadcast(to: channel, storage: .mostRecent, priority: .immediate, end))
  try await client.deleteChannel(channel).get()
  await client.close()
  return log
}
