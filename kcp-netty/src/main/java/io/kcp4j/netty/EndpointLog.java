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

/** What an endpoint logs. Limited, because any peer can cause it. Used by one thread. */
final class EndpointLog {

  private static final InternalLogger logger = InternalLoggerFactory.getInstance(KcpEndpoint.class);

  private final Channel socket;
  private final KcpCounters counters;
  private final ExceptionLog exceptions = new ExceptionLog(logger);

  /** Null until a peer has turned out to have other settings. */
  private MismatchLog mismatches;

  /** The fragments in streams that had been counted when a sender of one was last logged. */
  private long loggedFragments;

  EndpointLog(Channel socket, KcpCounters counters) {
    this.socket = socket;
    this.counters = counters;
  }

  /** An exception that nothing else handles. */
  void unexpected(Throwable cause, long nowMs) {
    exceptions.warn(socket, cause, nowMs);
  }

  /** A datagram shows that its sender has other settings. */
  void mismatched(KcpCounter counter, InetSocketAddress remote, long nowMs) {
    if (mismatches == null) {
      mismatches = new MismatchLog();
    }
    String line = mismatches.line(counter, remote, nowMs);
    if (line != null) {
      logger.info("{} {}", socket, line);
    }
  }

  /** A session has received something, which may have been a fragment in a stream. */
  void received(Session session, long nowMs) {
    long fragments = counters.get(KcpCounter.FRAGMENT_IN_STREAM);
    if (fragments != loggedFragments
        && session.kcp().counters().get(KcpCounter.FRAGMENT_IN_STREAM) > 0) {
      loggedFragments = fragments;
      mismatched(KcpCounter.FRAGMENT_IN_STREAM, session.remote(), nowMs);
    }
  }

  /** Nonces are random: after so many packets with one key, two of them may have the same. */
  void warnOfKeyUsageLimit(KeyRing keyRing) {
    for (PacketKey key : keyRing.keys()) {
      if (key.claimUsageWarning()) {
        logger.warn("{} {} packets have one key: {}; change it", socket, key.uses(), key);
      }
    }
  }
}
