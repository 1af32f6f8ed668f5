// libnghttp2: HTTP/2 framing, HPACK and stream states.
#ifndef CNGHTTP2_H
#define CNGHTTP2_H

#include <nghttp2/nghttp2.h>

#endif
