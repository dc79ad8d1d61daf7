/** The receiving half of a session: reordering, what is to be acknowledged, the receive window. */
package io.kcp4j.internal.receive;
