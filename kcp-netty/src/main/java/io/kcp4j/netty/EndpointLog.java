package io.kcp4j.netty;

import io.kcp4j.KcpCounter;
import io.kcp4j.KcpCounters;
import io.kcp4j.crypto.KeyRing;
import io.kcp4j.crypto.PacketKey;
import io.kcp4j.session.Session;
import io.netty.channel.Channel;
import io.netty.util.internal.logging.InternalLogger;
import io.netty.util.internal.logging.InternalLoggerFactory;
import java.net.InetSocketAddress;

/** Logs events of an endpoint, at a limited rate, because any peer can cause them. One thread. */
final class EndpointLog {

  private static final InternalLogger logger = InternalLoggerFactory.getInstance(KcpEndpoint.class);

  /** One random conversation id in 65,536 is smaller. */
  private static final int MIN_RANDOM_CONV = 1 << 16;

  private final Channel socket;
  private final KcpCounters counters;
  private final ExceptionLog exceptions = new ExceptionLog(logger, ExceptionLog.UNEXPECTED);
  private final ExceptionLog unhandled =
      new ExceptionLog(logger, "exception that no handler of the pipeline has taken");

  private final LogLimit smallConvs = new LogLimit();
  private final LogLimit refusedSends = new LogLimit();
  private final LogLimit unanswered = new LogLimit();
  private final LogLimit unsupportedLanes = new LogLimit();

  /** Null until a peer has turned out to have other settings. */
  private MismatchLog mismatches;

  /** The fragments in streams that had been counted when a sender of one was last logged. */
  private long loggedFragments;

  EndpointLog(Channel socket, KcpCounters counters) {
    this.socket = socket;
    this.counters = counters;
  }

  /** Logs an unexpected exception. */
  void unexpected(Throwable cause, long nowUs) {
    exceptions.warn(socket, cause, nowUs);
  }

  /** Logs an exception that no handler of a channel has taken. */
  void unhandled(Channel channel, Throwable cause, long nowUs) {
    unhandled.warn(channel, cause, nowUs);
  }

  /** Logs that the system has refused to send a datagram. */
  void sendRefused(String error, long nowUs) {
    if (refusedSends.tryAcquire(nowUs)) {
      logger.warn(
          "{} the system refuses to send datagrams: {} ({} more in the last ten seconds)",
          socket,
          error,
          refusedSends.takeSuppressed());
    }
  }

  /** Logs that the server of a client has not answered yet. */
  void unanswered(InetSocketAddress remote, String detail, long nowUs) {
    if (unanswered.tryAcquire(nowUs)) {
      logger.info("{} no answer from {} yet, {}", socket, remote, detail);
    }
  }

  /**
   * What was received of a server that has not answered, and the most likely cause.
   *
   * @param sendError the last error of the system, or null
   * @param isFecSent whether the client sends FEC, which C KCP does not take
   */
  String unansweredDetail(String sendError, boolean isFecSent) {
    long unopened = counters.get(KcpCounter.OPEN_FAILED);
    if (unopened > 0) {
      return unopened
          + " datagrams received that no key opens: the peer's KEY_RING has another key or cipher"
          + " than the one here";
    }
    String received = counters.get(KcpCounter.DATAGRAMS_IN) + " datagrams received";
    if (sendError != null) {
      return received + "; last send failed: " + sendError;
    }
    return received
        + ": most likely nobody listens there, or its KEY_RING has another key or cipher than the"
        + " one here"
        + (isFecSent ? ", or it takes no FEC, as C KCP" : "");
  }

  /** Logs that the settings of a peer do not match. */
  void mismatched(KcpCounter counter, InetSocketAddress remote, long nowUs) {
    if (mismatches == null) {
      mismatches = new MismatchLog();
    }
    String line = mismatches.line(counter, remote, nowUs);
    if (line != null) {
      logger.info("{} {}", socket, line);
    }
  }

  /** Logs that a client has no lanes, so that its session has ended. */
  void lanesUnsupported(InetSocketAddress remote, long nowUs) {
    if (unsupportedLanes.tryAcquire(nowUs)) {
      logger.info(
          "{} {} has no lanes: DELIVERY LANES needs a kcp4j client with LANES and EXTENSION",
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
