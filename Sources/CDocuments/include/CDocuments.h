// Files that the service hands out, inside the program: it runs without any beside it.
#ifndef CDOCUMENTS_H
#define CDOCUMENTS_H

#include <stddef.h>

// The description of the REST interface.
const unsigned char *cdocuments_openapi(size_t *count);

#endif
