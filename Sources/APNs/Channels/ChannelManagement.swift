import Clocks
import HTTP
import JSON

/// Whether APNs keeps a channel's last message for phones that are offline. Set once, at creation.
public enum ChannelStorage: Int, Sendable, Hashable, CaseIterable {
  /// Offline phones miss the message; a higher publishing budget. Broadcasts must have expiration 0.
  case none = 0
  /// The most recent message is kept, at most 8 hours.
  case mostRecent = 1
}

/// An answer with a good status whose content is not what Apple documents.
///
/// Nothing may be concluded from it, least of all that a channel does not exist.
public struct MalformedReply: Error, Sendable, Hashable, CustomStringConvertible {
  /// Who answered.
  public let host: String
  /// The answer's status.
  public let status: Int
  /// Which channel was asked about; nil when it was not about one.
  public let channelID: ChannelID?
  /// What is wrong with it.
  public let problem: String
  /// The beginning of the body, fit for a log line.
  public let excerpt: String

  public var description: String {
    let channel = channelID.map { " about channel \($0)" } ?? ""
    let body = excerpt.isEmpty ? "an empty body" : "the body \"\(excerpt)\""
    return "\(host) answered \(status)\(channel) with \(body): \(problem)."
  }
}

/// Requests of the channel management API, and how to read their answers. Does no I/O.
///
/// - SeeAlso: Apple, "Sending channel management requests to APNs".
enum ChannelManagement {
  enum Call: Sendable, Hashable {
    case create(ChannelStorage)
    case read(ChannelID)
    case delete(ChannelID)
    case list

    var method: String {
      switch self {
      case .create: "POST"
      case .read, .list: "GET"
      case .delete: "DELETE"
      }
    }

    var channelID: ChannelID? {
      switch self {
      case .read(let channelID), .delete(let channelID): channelID
      case .create, .list: nil
      }
    }

    /// The spelling of the push type differs from the one in broadcasts; both are Apple's.
    var body: [UInt8] {
      guard case .create(let storage) = self else { return [] }
      return Array(
        #"{"message-storage-policy":\#(storage.rawValue),"push-type":"LiveActivity"}"#.utf8)
    }

    /// The status that means success; any other one is a refusal.
    var goodStatus: Int {
      switch self {
      case .create: 201
      case .read, .list: 200
      case .delete: 204
      }
    }
  }

  static func request(
    _ call: Call, app: BundleID, authority: String, authorization: String?, requestID: String
  ) -> HTTPRequest {
    let collection = call == .list ? "all-channels" : "channels"
    var fields: HTTPFields = ["apns-request-id": requestID]
    fields["authorization"] = authorization
    if let channelID = call.channelID { fields.append("apns-channel-id", channelID.text) }
    if !call.body.isEmpty { fields.append("content-type", "application/json") }
    return HTTPRequest(
      method: call.method, authority: authority, path: "/1/apps/\(app.text)/\(collection)",
      fields: fields, body: call.body)
  }

  /// The new channel's ID, which is in a field: the body is empty.
  static func createdChannel(
    _ response: HTTPResponse, host: String
  ) throws(MalformedReply) -> ChannelID {
    let text = response.fields["apns-channel-id"]
    guard let channelID = text.flatMap({ ChannelID($0) }) else {
      let problem = text == nil ? "apns-channel-id is missing" : "apns-channel-id is not base64"
      throw malformed(response, host, nil, problem)
    }
    return channelID
  }

  static func storage(
    _ response: HTTPResponse, of channelID: ChannelID, host: String
  ) throws(MalformedReply) -> ChannelStorage {
    let root = try object(response, host, channelID)
    guard let number = root["message-storage-policy"]?.number?.int64 else {
      throw malformed(response, host, channelID, "message-storage-policy is no number")
    }
    guard let storage = ChannelStorage(rawValue: Int(clamping: number)) else {
      throw malformed(response, host, channelID, "message-storage-policy \(number) is unknown")
    }
    return storage
  }

  static func channels(
    _ response: HTTPResponse, host: String
  ) throws(MalformedReply) -> [ChannelID] {
    let root = try object(response, host, nil)
    guard let list = root["channels"], list.kind == .array else {
      throw malformed(response, host, nil, "channels is no array")
    }
    var channels: [ChannelID] = []
    for element in list.elements {
      guard let channelID = element.string.flatMap({ ChannelID($0) }) else {
        throw malformed(response, host, nil, "entry \(channels.count) of channels is no base64")
      }
      channels.append(channelID)
    }
    return channels
  }

  private static func object(
    _ response: HTTPResponse, _ host: String, _ channelID: ChannelID?
  ) throws(MalformedReply) -> JSONSlice {
    // 10,000 channels of some 30 bytes are the largest answer there can be.
    let limits = JSONLimits(maxBytes: 8 << 20, maxDepth: 8)
    do throws(JSONError) {
      let root = try JSONText(validating: response.body, limits: limits).root
      if root.kind == .object { return root }
    } catch {
      throw malformed(response, host, channelID, "it is not JSON (\(error.message))")
    }
    throw malformed(response, host, channelID, "it is no JSON object")
  }

  private static func malformed(
    _ response: HTTPResponse, _ host: String, _ channelID: ChannelID?, _ problem: String
  ) -> MalformedReply {
    MalformedReply(
      host: host, status: response.status, channelID: channelID, problem: problem,
      excerpt: BodyExcerpt.of(response.body))
  }
}
