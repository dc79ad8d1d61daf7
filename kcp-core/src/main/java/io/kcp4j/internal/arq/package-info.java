/** The KCP state machine: input, flushes, and what writes segments into datagrams. */
package io.kcp4j.internal.arq;
