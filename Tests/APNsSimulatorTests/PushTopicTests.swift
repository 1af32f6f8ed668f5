import APNsSimulator
import Clocks
import Testing

@Suite struct `A push type with a topic of its own` {
  static let suffixes = [
    ("widgets", ".push-type.widgets"), ("controls", ".push-type.controls"),
    ("location", ".location-query"), ("voip", ".voip"), ("pushtotalk", ".voip-ptt"),
    ("complication", ".complication"), ("fileprovider", ".pushkit.fileprovider"),
    ("accessory", ".push-type.accessory"),
  ]

  @Test(arguments: suffixes)
  func `has its topic, and a token for that topic alone`(_ type: String, _ suffix: String) throws {
    var world = try World()
    let phone = try world.apns.addPhone(PhoneSettings(bundleID: World.bundleID))
    let token = try world.apns.registerForPushes(ofType: type, phone: phone.phone)
    #expect(token != phone.deviceToken)
    let topic = World.bundleID + suffix
    let good = try world.device(token, "{}", type: type, topic: topic)
    #expect(world.send(good).status == 200)
    let cases: [(SimulatedRequest, String)] = [
      (good.with("apns-topic", World.bundleID), "BadTopic"),
      (good.with("apns-topic", topic + "x"), "BadTopic"),
      (good.with("apns-push-type", "alert"), "BadTopic"),
      (
        good.with("apns-push-type", "alert").with("apns-topic", World.bundleID),
        "DeviceTokenNotForTopic"
      ),
      (good.with(path: "/3/device/\(phone.deviceToken)"), "DeviceTokenNotForTopic"),
    ]
    for (request, reason) in cases { #expect(world.send(request).reasonText == reason) }
    world.wait(1)
    world.apns.advance(to: world.now)
    #expect(try world.apns.phone(phone.phone).notifications.map(\.pushType) == [type])
    #expect(world.apns.complaints.count == 0)
  }

  @Test func `has room for 5120 bytes if it is a call, else for 4096`() throws {
    var world = try World()
    let phone = try world.apns.addPhone(PhoneSettings(bundleID: World.bundleID))
    for (type, suffix) in Self.suffixes {
      let limit = type == "voip" ? 5120 : 4096
      let token = try world.apns.registerForPushes(ofType: type, phone: phone.phone)
      let largest = "{" + String(repeating: " ", count: limit - 2) + "}"
      let request = try world.device(token, largest, type: type, topic: World.bundleID + suffix)
      #expect(world.send(request).status == 200)
      #expect(world.send(request.with(body: largest + " ")).reasonText == "PayloadTooLarge")
    }
  }

  @Test func `is no alert, no background push and no Live Activity`() throws {
    var world = try World()
    let phone = try world.apns.addPhone(PhoneSettings(bundleID: World.bundleID))
    for type in ["alert", "background", "liveactivity", "mdm", "nothing"] {
      #expect(throws: PhoneError.self) {
        _ = try world.apns.registerForPushes(ofType: type, phone: phone.phone)
      }
    }
  }

  @Test func `is for managed devices if its topic is a certificate's`() throws {
    let userID = "com.apple.mgmt.External.0f"
    var world = try World {
      var management = SimulatedAppSettings(bundleID: userID, teamID: World.teamID)
      management.isManagementTopic = true
      $0.apps.append(management)
    }
    let managed = try world.apns.addPhone(PhoneSettings(bundleID: userID)).deviceToken
    let ordinary = try world.apns.addPhone(PhoneSettings(bundleID: World.bundleID)).deviceToken
    let request = try world.device(managed, #"{"mdm":"x"}"#, type: "mdm", topic: userID)
    #expect(world.send(request).status == 200)
    #expect(world.send(request.with("apns-push-type", "alert")).reasonText == "BadTopic")
    let wrong = try world.device(ordinary, #"{"mdm":"x"}"#, type: "mdm", topic: World.bundleID)
    #expect(world.send(wrong).reasonText == "BadTopic")
  }
}
