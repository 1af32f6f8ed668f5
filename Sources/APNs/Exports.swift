// What the public API takes and gives that other rooms define: whoever imports this library has it
// by the same import.
@_exported public import struct Clocks.UnixTime
@_exported public import enum Crypto.CryptoError
@_exported public import enum Crypto.IdentityError
@_exported public import struct HTTP.ExchangeFailure
@_exported public import struct HTTP.GoAway
@_exported public import struct HTTP.HTTPProxy
@_exported public import enum HTTP.HTTPProxyAddressError
@_exported public import struct JSON.JSONError
@_exported public import struct JSON.JSONText
@_exported public import enum Transport.TLSTrust
