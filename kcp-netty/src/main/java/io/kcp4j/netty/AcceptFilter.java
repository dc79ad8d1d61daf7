package io.kcp4j.netty;

import io.kcp4j.CloseReason;
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
   * Returns whether the peer may begin a session. If not, its datagram is counted and dropped; the
   * peer may try again unless it is told a {@link #refusal}. Called on the event loop of the
   * socket, one of several with {@link KcpServerChannelOption#SOCKETS}, for each attempt and each
   * window probe of an unknown peer; must not block. An exception refuses the attempt and is
   * logged.
   *
   * @param remote the address that the peer claims to have, which may be forged
   * @param conv the conversation id
   */
  boolean accepts(InetSocketAddress remote, int conv);

  /**
   * Returns what a client is told that has the extension, and that {@link #accepts} has refused:
   * its session ends as {@link io.kcp4j.EndReason#REFUSED}. The text is cut to the size of the
   * client's first datagram: 17 bytes have room in any case. A socket sends at most 2,000 refusals
   * in a second. Called as {@link #accepts} is; an exception is logged, and nothing is sent.
   *
   * @param remote the address that the peer claims to have, which may be forged
   * @param conv the conversation id
   * @return null, the default, to say nothing: the peer cannot tell that there is a server
   */
  default CloseReason refusal(InetSocketAddress remote, int conv) {
    return null;
  }
}
