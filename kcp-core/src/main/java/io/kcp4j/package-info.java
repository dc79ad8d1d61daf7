/**
 * The ARQ: {@link io.kcp4j.Kcp} and its parts. A state machine without clock, thread or socket, on
 * one thread at a time. {@code src/docs/protocol.md} says what it does, clause by clause.
 */
package io.kcp4j;
