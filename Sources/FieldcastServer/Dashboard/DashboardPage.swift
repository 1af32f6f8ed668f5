internal import HTTP

/// The dashboard's files, which are part of the program, and how they are served.
///
/// They hold nothing of a service, so everybody gets them; what they show comes by
/// `GET /v1/events`, which asks for a token where the service has one.
enum DashboardPage {
  /// One file of the page.
  struct File: Sendable {
    let path: String
    let type: String
    let bytes: [UInt8]
    /// Of the bytes, so that a browser that has them need not be sent them again.
    let tag: String

    init(_ path: String, _ type: String, _ bytes: [UInt8]) {
      self.path = path
      self.type = type
      self.bytes = bytes
      tag = "\"\(SHA256Text.of(bytes).prefix(32))\""
    }

    func response(to request: HTTPRequest) -> HTTPResponse {
      var fields = DashboardPage.fields
      fields["content-type"] = type
      fields["etag"] = tag
      if request.fields["if-none-match"] == tag {
        return HTTPResponse(status: 304, fields: fields)
      }
      return HTTPResponse(status: 200, fields: fields, body: bytes)
    }
  }

  static let files: [File] = [
    File("/", html, PackageResources.dashboard_html),
    File("/dashboard/dashboard.css", css, PackageResources.dashboard_css),
    File("/dashboard/phone.css", css, PackageResources.phone_css),
    File("/dashboard/icon.svg", "image/svg+xml", PackageResources.icon_svg),
    File("/dashboard/dashboard.js", script, PackageResources.dashboard_js),
    File("/dashboard/books.js", script, PackageResources.books_js),
    File("/dashboard/card.js", script, PackageResources.card_js),
    File("/dashboard/chart.js", script, PackageResources.chart_js),
    File("/dashboard/dom.js", script, PackageResources.dom_js),
    File("/dashboard/fleet.js", script, PackageResources.fleet_js),
    File("/dashboard/stream.js", script, PackageResources.stream_js),
    File("/dashboard/trip.js", script, PackageResources.trip_js),
    File("/dashboard/trips.js", script, PackageResources.trips_js),
    File("/dashboard/words.js", script, PackageResources.words_js),
  ]

  private static let html = "text/html; charset=utf-8"
  private static let css = "text/css; charset=utf-8"
  private static let script = "text/javascript; charset=utf-8"

  /// Whatever a page might be made to hold, it runs no script but its own, asks no other host, and
  /// stands in no other page.
  private static let fields: HTTPFields = [
    "content-security-policy": """
    default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; \
    base-uri 'none'; form-action 'none'; frame-ancestors 'none'
    """,
    "x-content-type-options": "nosniff", "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin", "cache-control": "no-cache",
  ]
}
