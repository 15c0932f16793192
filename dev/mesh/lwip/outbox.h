#ifndef MESH_OUTBOX_H
#define MESH_OUTBOX_H

#include "lwip/err.h"
#include "lwip/pbuf.h"

/* Copies a packet to the outbox, which the host empties by `flush`, or which is full. */
err_t put_out(struct pbuf *packet);

#endif
