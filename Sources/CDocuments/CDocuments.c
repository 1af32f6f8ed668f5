#include "CDocuments.h"

// Every compiler that builds Fieldcast, Swift's own, has had it since before the standard did.
#pragma clang diagnostic ignored "-Wc23-extensions"

static const unsigned char openapi[] = {
#embed "openapi.json"
};

const unsigned char *cdocuments_openapi(size_t *count) {
  *count = sizeof openapi;
  return openapi;
}
