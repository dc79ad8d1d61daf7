package io.kcp4j.netty;

import java.net.InetSocketAddress;

/**
 * Decides, before anything is made for a peer, whether it may begin a session with a server: by a
 * list of addresses or by a rate, for example. See {@link KcpServerChannelOption#ACCEPT_FILTER}.
 */
@FunctionalInterface
public interface AcceptFilter {

  /** Accepts every peer. */
  AcceptFilter ALL = (remote, conv) -> true;

  /**
   * Returns whether the peer may begin a session. If not, its datagram is counted and dropped, and
   * the peer may try again. Called on the event loop of the socket, one of several with {@link
   * KcpServerChannelOption#SOCKETS}, for each attempt and each window probe of an unknown peer;
   * must not block. An exception refuses the attempt and is logged.
   *
   * @param remote the address that the peer claims to have, which may be forged
   * @param conv the conversation id
   */
  boolean accepts(InetSocketAddress remote, int conv);
}
