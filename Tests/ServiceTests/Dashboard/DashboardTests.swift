import APNsSimulator
import FieldTrips
import FieldcastServer
import Foundation
import HTTP
import JSON
import Testing
import Transport

@Suite struct `The dashboard` {
  @Test func `comes whole from the service, and lets nothing else in`() async throws {
    try await World.with { world in
      try await world.withService { caller in
        let page = try await caller.call("GET", "/")
        #expect(page.status == 200)
        #expect(page.fields["content-type"] == "text/html; charset=utf-8")
        let policy = try #require(page.fields["content-security-policy"])
        #expect(policy.contains("default-src 'none'") && !policy.contains("unsafe"))
        // Everything that it names is here, and nothing is elsewhere.
        let named = page.text.matches(of: /(?:src|href)="(\/[^"]*)"/).map { String($0.output.1) }
        #expect(named.count >= 4)
        #expect(!page.text.contains("://"))
        var sought = Set(named)
        var seen: Set<String> = []
        while let path = sought.popFirst() {
          let file = try await caller.call("GET", path)
          #expect(file.status == 200, "\(path)")
          #expect(file.fields["x-content-type-options"] == "nosniff", "\(path)")
          seen.insert(path)
          guard path.hasSuffix(".js") else { continue }
          for match in file.text.matches(of: /from "\.\/([a-z]+\.js)"/) {
            let imported = "/dashboard/\(match.output.1)"
            if !seen.contains(imported) { sought.insert(imported) }
          }
          // Text is set as text, and nothing is run that is not in the file.
          for word in ["innerHTML", "outerHTML", "insertAdjacent", "eval(", "document.write"] {
            #expect(!file.text.contains(word), "\(path) has \(word)")
          }
        }
        #expect(seen.contains("/dashboard/words.js"))
        let tag = try #require(page.fields["etag"])
        let again = try await caller.call("GET", "/", fields: ["if-none-match": tag])
        #expect(again.status == 304 && again.text.isEmpty)
      }
    }
  }

  @Test(.enabled(if: Browser.program != nil, Browser.isMissing))
  func `shows trips as they change, and what callers name them as text`() async throws {
    try await World.with(speed: 20) { world in
      try await world.withService { caller in
        guard case .tcp(_, let port) = caller.endpoint else { return }
        let script = #"<img src=x onerror=\"window.hacked=1\"><script>window.hacked=1</script>"#
        let bad = try await caller.createTrip(#"{"name":"\#(script)","notebook":"<b>Birds</b>"}"#)
        try await Browser.open("http://127.0.0.1:\(port)/", in: world) { browser in
          try await browser.waitForText("<script>window.hacked=1</script>", in: ".trips")
          try await browser.waitForText("1\n", in: ".tiles")
          let trip = try await caller.createTrip()
          try await browser.waitForText("Spring walk", in: ".trips")
          try await browser.wait(until: "document.querySelector('.link')?.innerText == 'Live'")
          let join = #"{"member":"anna","osVersion":"18.2"}"#
          _ = try await caller.call("POST", "/v1/trips/\(trip.id)/members", join)
          try await browser.waitForText("1 channel", in: ".trips")
          // By keyboard: down to the first trip, which moved last, and into it.
          try await browser.press("ArrowDown", code: 40)
          try await browser.wait(until: "document.activeElement.innerText == 'Spring walk'")
          try await browser.press("Enter", code: 13)
          try await browser.waitForText("What phones show now")
          try await browser.waitForText("0 notes captured", in: ".activity")
          let note = #"{"id":"n1","significant":true,"place":"East pools"}"#
          _ = try await caller.call("POST", "/v1/trips/\(trip.id)/notes", note)
          try await browser.waitForText("1 note captured", in: ".activity")
          try await browser.waitForText("Last at East pools", in: ".activity")
          try await browser.waitForText("accepted", in: ".sends")
          try await browser.wait(
            until: "document.querySelectorAll('.timeline .p10 circle').length > 0")
          _ = try await caller.call("POST", "/v1/trips/\(trip.id)/end")
          try await browser.waitForText("Ended", in: ".activity")
          _ = try await browser.value(of: "void (location.hash = '#/trips/\(bad.id)')")
          try await browser.waitForText("<b>Birds</b>", in: ".activity")
          #expect(try await browser.value(of: "window.hacked === undefined").bool == true)
          let pictures = "document.querySelectorAll('main img').length"
          #expect(try await browser.value(of: pictures).int64 == 0)
        }
      }
    }
  }

  @Test(.enabled(if: Browser.program != nil, Browser.isMissing))
  func `asks for a token, and keeps it in its tab alone`() async throws {
    let (all, app) = (AccessToken(), AccessToken())
    let list = try AccessList(
      parsing: """
        \(all.entry(name: "all", scopes: [.trips, .admin]))
        \(app.entry(name: "app", scopes: [.trips]))
        """)
    try await World.with { world in
      try await world.withService({ $0.access = list }) { caller in
        guard case .tcp(_, let port) = caller.endpoint else { return }
        try await Browser.open("http://127.0.0.1:\(port)/#/channels", in: world) { browser in
          try await browser.waitForText("This service asks for a token")
          try await browser.picture("token")
          func enter(_ token: String) async throws {
            try await browser.wait(until: "document.activeElement.id == 'token'")
            try await browser.type(token)
            try await browser.press("Enter", code: 13)
          }
          try await enter("fct_wrong")
          try await browser.waitForText("not on this service")
          try await enter(all.text)
          try await browser.waitForText("0 of 10,000 channels")
          let kept = "JSON.stringify([sessionStorage.length, localStorage.length, location.href])"
          let text = try await browser.value(of: kept).string ?? ""
          #expect(text.hasPrefix("[1,0,") && !text.contains("fct_"))
          _ = try await browser.value(of: "document.querySelector('[data-action=forget]').click()")
          try await browser.waitForText("This service asks for a token")
          #expect(try await browser.value(of: "sessionStorage.length").int64 == 0)
          // A token of less scope is told what it may not see.
          try await enter(app.text)
          try await browser.waitForText("lacks the scope admin")
        }
      }
    }
  }

  @Test(.enabled(if: Browser.program != nil, Browser.isMissing))
  func `reads events in whatever pieces they come, and draws buckets as they fill`() async throws {
    try await World.with { world in
      try await world.withService { caller in
        guard case .tcp(_, let port) = caller.endpoint else { return }
        try await Browser.open("http://127.0.0.1:\(port)/", in: world) { browser in
          try await browser.wait(until: "document.querySelector('.link')?.innerText == 'Live'")
          // Cut at every place, line ends among them.
          let events = """
            import('/dashboard/stream.js').then(({ EventReader }) => {
              const text = 'retry: 2500\\nevent: a\\r\\ndata: 1\\r\\n\\r\\n:\\n\\ndata:x\\ndata: y\\n\\nevent: b\\n\\n';
              const seen = new Set();
              for (let cut = 0; cut <= text.length; cut++) {
                const all = [];
                const reader = new EventReader(
                  (name, data) => all.push(name + '=' + data), (retry) => all.push(retry));
                reader.push(text.slice(0, cut));
                reader.push(text.slice(cut));
                seen.add(JSON.stringify(all));
              }
              return [...seen].join();
            })
            """
          #expect(
            try await browser.value(of: events).string == #"[2500,"a=1","message=x\ny"]"#)
          // It falls by a token at a broadcast, fills to its brim, and is emptied by a 429.
          let levels = """
            import('/dashboard/chart.js').then(({ levels }) => {
              const send = (sent, level, capacity) =>
                ({ sent, level, capacity, refillMilliseconds: 1000, priority: 10 });
              const sends = [send(0, 9, 10), send(5000, 0, 7)];
              const trip = { budget: { capacity: 7 }, sends };
              return JSON.stringify(levels(trip, 0, 9000));
            })
            """
          #expect(
            try await browser.value(of: levels).string
              == "[[0,10],[0,10],[0,9],[1000,10],[5000,10],[5000,0],[9000,4]]")
        }
      }
    }
  }
}
