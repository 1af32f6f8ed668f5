// Calls that Apple's frameworks would not take. Each line with a mark must be an error, and no other:
// so the stand-ins are strict enough to find such a call in the kit.

import ActivityKit
import AppIntents
import FieldTripKit
import Foundation
import SwiftUI
import WidgetKit

func startsWithoutContent(_ attributes: FieldTripAttributes) throws {
  _ = try Activity.request(attributes: attributes, pushType: .token)  // wrong
}

func startsWithAnotherCardsState(_ reply: JoinReply<JobProgressAttributes>) throws {
  _ = try Activity<FieldTripAttributes>.request(
    attributes: FieldTripAttributes(name: "", notebook: "", tripID: ""),
    content: reply.content)  // wrong
}

func namesAChannelByNumber() -> PushType {
  .channel(7)  // wrong
}

func schedulesWithoutAnAlert(_ reply: JoinReply<FieldTripAttributes>) throws {
  _ = try Activity.request(
    attributes: reply.attributes, content: reply.content, pushType: reply.pushType,
    style: .standard, start: Date())  // wrong
}

func doesNotWaitForAnEnd(_ card: Activity<FieldTripAttributes>) {
  card.end(nil, dismissalPolicy: .immediate)  // wrong
}

func namesAStateThatThereIsNot(_ state: ActivityState) -> Bool {
  state == .paused  // wrong
}

func takesATokenForText(_ card: Activity<FieldTripAttributes>) -> String? {
  card.pushToken  // wrong
}

func changesWhatIsShown(_ card: Activity<FieldTripAttributes>) {
  card.attributes.name = "Another"  // wrong
}

struct NotEncodable: ActivityAttributes {  // wrong
  struct ContentState { var change: () -> Void }
}

@available(iOS 26.0, *)
struct HandlerOfNothing: WidgetPushHandler {  // wrong
  func pushTokenDidChange(_ pushInfo: WidgetPushInfo) {}
}

@available(iOS 17.0, *)
struct IntentWithoutTitle: LiveActivityIntent {  // wrong
  func perform() async throws -> some IntentResult { .result() }
}

struct ViewOfText: View {  // wrong
  var body: String { "no view" }
}

nonisolated func readsAWidgetOutsideTheMainActor(_ widget: FieldTripLiveActivity) {
  _ = widget.body  // wrong
}
