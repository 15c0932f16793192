#ifndef MESH_OUTBOX_H
#define MESH_OUTBOX_H

#include "lwip/err.h"
#include "lwip/pbuf.h"

/*
 * Copies a packet to the outbox. `flush` hands the outbox to the host, and a full one is flushed
 * first.
 */
err_t put_out(struct pbuf *packet);

#endif
