/**
 * The sending half of a session: the send queue and buffer, windows, outages, the path MTU, and
 * what reports on segments.
 */
package io.kcp4j.internal.send;
