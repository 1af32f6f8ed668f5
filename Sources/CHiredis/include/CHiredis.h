// hiredis' reply reader; sockets and commands are our own.
#ifndef CHIREDIS_H
#define CHIREDIS_H

#include <hiredis/read.h>
#include <hiredis/hiredis.h>

#endif
