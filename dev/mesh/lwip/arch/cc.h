/* What lwIP needs from a compiler and a platform. clang provides the types; nothing is printed. */
#ifndef MESH_ARCH_CC_H
#define MESH_ARCH_CC_H

#include <stddef.h>
#include <stdint.h>

#define LWIP_NO_UNISTD_H 1
#define LWIP_NO_CTYPE_H 1

#define LWIP_PLATFORM_DIAG(message) \
  do {                              \
  } while (0)

/* A broken invariant ends the instance: the host sees a trap, and no wrong byte is delivered. */
#define LWIP_PLATFORM_ASSERT(message) __builtin_trap()

/* Imports a function of the host, and exports one to it, under the name that the host uses. */
#define IMPORT(name) __attribute__((import_module("host"), import_name(#name)))
#define EXPORT(name) __attribute__((export_name(#name)))

/* From the host's cryptographic source: nobody may guess ports and initial sequence numbers. */
IMPORT(random) uint32_t mesh_random(void);
#define LWIP_RAND() mesh_random()

#endif
