import Foundation

let environment = ProcessInfo.processInfo.environment
let status = await CommandLineInterface(environment: environment)
  .run(Array(CommandLine.arguments.dropFirst()))
exit(status.rawValue)
