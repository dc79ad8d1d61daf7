/**
 * The sessions of one socket: which datagram belongs to which session, who may open one, when each
 * has to be driven, and which peers no longer respond. No I/O and no clock.
 *
 * <p>For drivers such as {@code kcp-netty}: all of it may change in any release.
 */
@Unstable
package io.kcp4j.session;

import io.kcp4j.Unstable;
