package io.kcp4j.netty.internal.endpoint;

import io.kcp4j.KcpCounter;
import io.kcp4j.KcpCounters;
import io.kcp4j.crypto.KeyRing;
import io.kcp4j.crypto.PacketKey;
import io.kcp4j.internal.session.Session;
import io.kcp4j.netty.internal.LogLimit;
import io.kcp4j.netty.internal.udp.UdpTransport;
import io.netty.channel.Channel;
import io.netty.util.internal.logging.InternalLogger;
import io.netty.util.internal.logging.InternalLoggerFactory;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.PortUnreachableException;
import java.util.EnumMap;
import java.util.Map;

/**
 * Logs events of an endpoint, one line of each kind in ten seconds, because any peer can cause
 * them. Counts datagrams that the system refuses to send. Used by the endpoint's event loop.
 */
final class EndpointLog {

  private static final InternalLogger logger = InternalLoggerFactory.getInstance(KcpEndpoint.class);

  /** One random conversation id in 65,536 is smaller. */
  private static final int MIN_RANDOM_CONV = 1 << 16;

  private final Channel socket;
  private final KcpCounters counters;
  private final LogLimit exceptions = new LogLimit();
  private final LogLimit unhandled = new LogLimit();
  private final LogLimit smallConvs = new LogLimit();
  private final LogLimit refusedSends = new LogLimit();
  private final LogLimit unanswered = new LogLimit();
  private final LogLimit unsupportedLanes = new LogLimit();

  /** The limits of mismatches by the counter that counts them; null until there is one. */
  private Map<KcpCounter, LogLimit> mismatches;

  /** The last error with which the system has refused to send a datagram, or null. */
  private String lastSendError;

  /** The fragments in streams that had been counted when a sender of one was last logged. */
  private long loggedFragments;

  EndpointLog(Channel socket, KcpCounters counters) {
    this.socket = socket;
    this.counters = counters;
  }

  /** Logs an unexpected exception. */
  void unexpected(Throwable cause, long nowUs) {
    exceptions.warn(logger, socket, LogLimit.UNEXPECTED, cause, nowUs);
  }

  /** Logs an exception that no handler of a channel has taken. */
  void unhandled(Channel channel, Throwable cause, long nowUs) {
    String kind = "exception that no handler of the pipeline has taken";
    unhandled.warn(logger, channel, kind, cause, nowUs);
  }

  /** The errors of sending that have a counter, by the text that C libraries have for them. */
  private enum SendError {
    EPERM("not permitted", KcpCounter.SEND_REFUSED_EPERM),
    ENETUNREACH("etwork is unreachable", KcpCounter.SEND_REFUSED_ENETUNREACH),
    EHOSTUNREACH("o route to host", KcpCounter.SEND_REFUSED_EHOSTUNREACH),
    EADDRNOTAVAIL("assign requested address", KcpCounter.SEND_REFUSED_EADDRNOTAVAIL);

    private final String text;
    private final KcpCounter counter;

    SendError(String text, KcpCounter counter) {
      this.text = text;
      this.counter = counter;
    }

    /** The error with a message, or null for another one. */
    static SendError of(String message) {
      for (SendError error : values()) {
        if (message.contains(error.text)) {
          return error;
        }
      }
      return null;
    }
  }

  /**
   * Counts and logs a failure that the socket reports: the system has refused to send a datagram,
   * which counts as sent and lost. An ICMP error is no refusal, but an answer.
   */
  void sendFailed(IOException failure, long nowUs) {
    if (failure instanceof PortUnreachableException) {
      return;
    }
    String message = failure.getMessage() == null ? failure.toString() : failure.getMessage();
    SendError error = SendError.of(message);
    counters.add(error == null ? KcpCounter.SEND_REFUSED_OTHER : error.counter, 1);
    lastSendError = error == null ? message : error.name();
    if (refusedSends.tryAcquire(nowUs)) {
      logger.warn(
          "{} the system refuses to send datagrams: {} ({} more in the last ten seconds)",
          socket,
          lastSendError,
          refusedSends.takeSuppressed());
    }
  }

  /**
   * Logs that the server of a client has not answered yet.
   *
   * @param isFecSent see {@link #unansweredDetail}
   */
  void unanswered(InetSocketAddress remote, boolean isFecSent, long nowUs) {
    if (unanswered.tryAcquire(nowUs)) {
      logger.info("{} no answer from {} yet, {}", socket, remote, unansweredDetail(isFecSent));
    }
  }

  /**
   * What was received of a server that has not answered, and the most likely cause.
   *
   * @param isFecSent whether the client sends FEC, which C KCP does not take
   */
  String unansweredDetail(boolean isFecSent) {
    long unopened = counters.get(KcpCounter.DECRYPT_FAILED);
    if (unopened > 0) {
      return unopened
          + " datagrams received that no key opens: the peer's KEY_RING has another key or cipher"
          + " than the one here";
    }
    String received = counters.get(KcpCounter.DATAGRAMS_IN) + " datagrams received";
    if (lastSendError != null) {
      return received + "; last send failed: " + lastSendError;
    }
    return received
        + ": most likely nobody listens there, or its KEY_RING has another key or cipher than the"
        + " one here"
        + (isFecSent ? ", or it takes no FEC, as C KCP" : "");
  }

  /**
   * Logs that the settings of a peer do not match.
   *
   * @param kind the counter that has counted the datagram which shows it
   */
  void mismatched(KcpCounter kind, InetSocketAddress source, long nowUs) {
    if (mismatches == null) {
      mismatches = new EnumMap<>(KcpCounter.class);
    }
    if (!mismatches.computeIfAbsent(kind, first -> new LogLimit()).tryAcquire(nowUs)) {
      return;
    }
    InetSocketAddress remote = UdpTransport.withoutZeroScope(source);
    String line =
        switch (kind) {
          case DECRYPT_FAILED ->
              "no key opens a packet from "
                  + remote
                  + ": its KEY_RING has another key or cipher than the one here";
          case PLAINTEXT_RECEIVED ->
              remote + " sends plaintext: the peer needs a KEY_RING, as set here";
          case NOT_KCP ->
              remote + " sends no KCP segments: the peer has a KEY_RING, and none is set here";
          case FRAGMENT_IN_STREAM ->
              remote + " sends fragments: its DELIVERY is MESSAGE, here it is STREAM";
          case DELIVERY_MISMATCHED ->
              remote + " has another DELIVERY than is set here: set the same on both sides";
          default -> throw new AssertionError(kind);
        };
    logger.info("{} {}", socket, line);
  }

  /** Logs that a client has no lanes, so that its session has ended. */
  void lanesUnsupported(InetSocketAddress remote, long nowUs) {
    if (unsupportedLanes.tryAcquire(nowUs)) {
      logger.info(
          "{} {} has no lanes: DELIVERY LANES needs a kcp4j client with LANES and the extension",
          socket,
          remote);
    }
  }

  /** Logs the peer of a session if it has sent fragments in stream mode. */
  void received(Session session, long nowUs) {
    long fragments = counters.get(KcpCounter.FRAGMENT_IN_STREAM);
    if (fragments != loggedFragments
        && session.kcp().counters().get(KcpCounter.FRAGMENT_IN_STREAM) > 0) {
      loggedFragments = fragments;
      mismatched(KcpCounter.FRAGMENT_IN_STREAM, session.remote(), nowUs);
    }
  }

  /**
   * Logs the peer of a session whose conversation id is most likely not random, if the packets of
   * all sessions are protected by the same AEAD.
   */
  void begins(int conv, InetSocketAddress remote, KeyRing keyRing, long nowUs) {
    boolean isSmall = Integer.compareUnsigned(conv, MIN_RANDOM_CONV) < 0;
    if (isSmall && keyRing.isAuthenticated() && smallConvs.tryAcquire(nowUs)) {
      logger.info(
          "{} conv {} of {} is small: choose random ones, as recorded packets of a session can be"
              + " sent into another one of the same conv",
          socket,
          Integer.toUnsignedString(conv),
          remote);
    }
  }

  /** Warns once of each key that is past its usage limit: its random nonces may repeat. */
  void warnOfKeyUsageLimit(KeyRing keyRing) {
    for (PacketKey key : keyRing.keys()) {
      if (key.claimUsageWarning()) {
        logger.warn(
            "{} {} packets were sealed with key {}: it is past its usage limit, change it",
            socket,
            key.uses(),
            key);
      }
    }
  }
}
