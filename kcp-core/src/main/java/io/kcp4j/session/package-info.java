/**
 * The sessions of one socket: which datagram belongs to which, who may begin one, when each has to
 * be driven, and which peers have gone. No I/O and no clock.
 */
package io.kcp4j.session;
