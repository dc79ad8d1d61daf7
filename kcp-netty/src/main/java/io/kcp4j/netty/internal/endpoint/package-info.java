/**
 * A UDP socket with its sessions, on one event loop: what it receives goes to the table of
 * sessions, what they send to the socket, and what they report to their channels. Not exported.
 */
package io.kcp4j.netty.internal.endpoint;
