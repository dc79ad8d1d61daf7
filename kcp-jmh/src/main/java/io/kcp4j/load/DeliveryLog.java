package io.kcp4j.load;

import io.netty.buffer.ByteBuf;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.StringJoiner;
import java.util.concurrent.TimeUnit;

/**
 * Says when {@link NumberedBytes} have arrived, in each session of this process, and whether they
 * were those that were sent. Instants are in nanoseconds since the epoch: all processes share the
 * clock of the machine. Event loops add to it; one other thread reads it.
 */
final class DeliveryLog implements LoadReport {

  /** The shortest time between two arrivals that is logged. */
  private static final long MIN_GAP_NS = TimeUnit.MILLISECONDS.toNanos(10);

  private final List<Session> sessions = new ArrayList<>();
  private final RoundTripHistogram roundTrips = new RoundTripHistogram();

  /** Begins the log of a session. */
  synchronized Session begin() {
    Session session = new Session(sessions.size(), nowNs());
    sessions.add(session);
    return session;
  }

  /** The round trips of all sessions since the previous mark. */
  RoundTripHistogram roundTrips() {
    return roundTrips;
  }

  @Override
  public synchronized String toJson() {
    StringJoiner all = new StringJoiner(",", "[", "]");
    for (Session session : sessions) {
      all.add(session.toJson());
    }
    return "{\"sessions\":" + all + ",\"round_trips\":" + roundTrips.toJson() + "}";
  }

  private static long nowNs() {
    Instant now = Instant.now();
    return TimeUnit.SECONDS.toNanos(now.getEpochSecond()) + now.getNano();
  }

  /** The arrivals of one session. */
  static final class Session {

    private final int number;
    private final long begunAtNs;
    private final StringJoiner gaps = new StringJoiner(",", "[", "]");
    private long lastAtNs;
    private long bytes;
    private String wrong = "";
    private String ended = "";

    private Session(int number, long begunAtNs) {
      this.number = number;
      this.begunAtNs = begunAtNs;
      lastAtNs = begunAtNs;
    }

    /** How many sessions of this process began earlier. */
    int number() {
      return number;
    }

    /**
     * Logs and checks what has arrived. After the first wrong byte it only counts.
     *
     * @return how many bytes have arrived in all
     */
    synchronized long received(ByteBuf data) {
      long atNs = nowNs();
      if (atNs - lastAtNs >= MIN_GAP_NS) {
        gaps.add("[" + lastAtNs + "," + atNs + "]");
      }
      lastAtNs = atNs;
      if (wrong.isEmpty()) {
        wrong = NumberedBytes.firstWrong(data, bytes);
      }
      bytes += data.readableBytes();
      return bytes;
    }

    /** Logs why the session has ended; only the first reason counts. */
    synchronized void ended(String reason) {
      if (ended.isEmpty()) {
        ended = reason;
      }
    }

    private synchronized String toJson() {
      return "{\"begun_ns\":"
          + begunAtNs
          + ",\"bytes\":"
          + bytes
          + ",\"last_ns\":"
          + lastAtNs
          + ",\"gaps\":"
          + gaps
          + ",\"wrong\":\""
          + wrong
          + "\",\"ended\":\""
          + ended.replaceAll("[\\\\\"\\p{Cntrl}]", " ")
          + "\"}";
    }
  }
}
