package io.kcp4j.internal.session;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kcp4j.Delivery;
import io.kcp4j.EndReason;
import io.kcp4j.KcpConfig;
import io.kcp4j.KcpCounter;
import io.kcp4j.internal.memory.MemoryLimit;
import io.kcp4j.internal.memory.MemoryLimit.ClosingShare;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Test;

/** Sessions that are closing, with readers that take little: protocol.md 8.12. */
class ClosingMemoryTest {

  private static final int MIB = 1 << 20;
  private static final int ANSWER_BYTES = 600_000;
  private static final int FIRST = 2;
  private static final int CLOSING = 16;
  private static final int FEW = 2;
  private static final int LIVE = 100;

  /** Reads so many bytes of an answer per second. */
  private static final class Reader {

    private final Crowd.Client client;
    private final long bytesPerSecond;
    private long readBytes;

    Reader(Crowd.Client client, long bytesPerSecond) {
      this.client = client;
      this.bytesPerSecond = bytesPerSecond;
      client.driver.onProgress = session -> {};
    }

    int host() {
      return client.address.getAddress().getAddress()[3];
    }

    /** Reads the rest of the answer as it arrives. */
    void readAsItArrives() {
      readBytes = ANSWER_BYTES;
    }

    void read(int ms) {
      readBytes += bytesPerSecond * ms / 1_000;
      ByteBuf part;
      while (client.receivedBytes < readBytes && (part = client.session.kcp().receive()) != null) {
        client.receivedBytes += part.readableBytes();
        part.release();
      }
      client.flush();
    }
  }

  private final MemoryLimit limit = MemoryLimit.shared(8 * MIB);
  private final List<Crowd> crowds = new ArrayList<>();
  private final List<Reader> readers = new ArrayList<>();

  /** A server that answers each session once, and closes those of hosts below {@link #LIVE}. */
  private void serve() {
    KcpConfig config =
        KcpConfig.builder()
            .delivery(Delivery.STREAM)
            .receiveWindow(32)
            .sendWindow(512)
            .sendQueue(1_024)
            .build();
    Crowd crowd = new Crowd(limit, config);
    Map<Session, ByteBuf> answers = new HashMap<>();
    Set<Session> closed = new HashSet<>();
    crowd.onRead =
        session -> {
          if (!crowd.received.containsKey(session.remote())) {
            return;
          }
          ByteBuf answer =
              answers.computeIfAbsent(
                  session, s -> Unpooled.buffer(ANSWER_BYTES).writeZero(ANSWER_BYTES));
          session.kcp().send(answer); // As from a channel's outbound buffer, also when it closes.
          if (host(session) < LIVE && session.path().isValidated() && closed.add(session)) {
            crowd.server.table.linger(session, 60_000, 60_000, crowd.nowUs);
          }
          if (closed.contains(session) && !answer.isReadable() && session.kcp().isDrained()) {
            crowd.server.table.remove(session, crowd.nowUs);
            session.close();
          }
        };
    crowds.add(crowd);
  }

  private static int host(Session session) {
    return session.remote().getAddress().getAddress()[3];
  }

  private Crowd.Client download(int host, long bytesPerSecond) {
    Crowd.Client client = crowds.get(host % crowds.size()).client(host);
    readers.add(new Reader(client, bytesPerSecond));
    client.session.kcp().send(Unpooled.buffer().writeZero(1));
    client.flush();
    run(100);
    return client;
  }

  private void run(int ms) {
    for (int i = 0; i < ms; i += 20) {
      crowds.forEach(crowd -> crowd.run(20));
      readers.forEach(reader -> reader.read(20));
    }
  }

  /** Sessions hold all that sending may use, and close; the first ones deliver least per second. */
  private void close() {
    for (int host = FIRST; host < FIRST + CLOSING; host++) {
      download(host, 15_000L * host);
    }
    assertFalse(crowds.get(0).budget.hasRoomToSend(MIB / 16));
  }

  private void assertSlowestGiveWay() {
    close();
    Crowd.Client live = download(LIVE, 50_000);
    run(3_000);
    assertEquals(
        ANSWER_BYTES, live.serverSession().kcp().counters().get(KcpCounter.PAYLOAD_BYTES_OUT));
    Map<InetSocketAddress, EndReason> ends = new HashMap<>();
    for (Crowd crowd : crowds) {
      ends.putAll(crowd.ends);
      assertEquals(crowd.ends.size(), crowd.count(KcpCounter.SESSIONS_SHORT_OF_MEMORY));
    }
    assertFalse(ends.isEmpty());
    assertEquals(Set.of(EndReason.CLOSE_TIMEOUT), Set.copyOf(ends.values()));
    run(20_000);
    for (Reader reader : readers) {
      boolean hasEnded = reader.host() < FIRST + ends.size();
      assertEquals(hasEnded, ends.containsKey(reader.client.address), "host " + reader.host());
      assertEquals(hasEnded, reader.client.receivedBytes < ANSWER_BYTES, "host " + reader.host());
    }
  }

  /**
   * Of those that deliver equally little, only as many give way as hold what is beyond the share.
   */
  @Test
  void fewOfThoseThatAreEquallySlowGiveWay() {
    serve();
    for (int host = FIRST; host < FIRST + CLOSING; host++) {
      download(host, 20_000);
    }
    run(8_000); // Their rates since they began to close become equal.
    download(LIVE, 50_000);
    run(3_000);
    assertEquals(Set.of(EndReason.CLOSE_TIMEOUT), Set.copyOf(crowds.get(0).ends.values()));
    long heldBytes = 0;
    for (Reader reader : readers) {
      if (reader.host() < LIVE && !crowds.get(0).ends.containsKey(reader.client.address)) {
        heldBytes += reader.client.serverSession().kcp().memory().heldBytes();
      }
    }
    assertTrue(heldBytes > MIB, heldBytes + " bytes");
  }

  /** Lingering sessions that hold most of a quarter leave by themselves. Others linger then. */
  @Test
  void sessionsThatHaveDeliveredEverythingAreCountedNoMore() {
    serve();
    Crowd crowd = crowds.get(0);
    for (int host = FIRST; host < FIRST + CLOSING; host++) {
      download(host, 20_000);
    }
    run(8_000);
    download(LIVE, 50_000);
    for (int i = 0; i < 200 && crowd.ends.isEmpty(); i++) {
      run(20);
    }
    Map<InetSocketAddress, EndReason> ends = Map.copyOf(crowd.ends);
    assertFalse(ends.isEmpty());
    long lingeringBytes = lingeringBytes();
    assertTrue(lingeringBytes > MIB, lingeringBytes + " bytes");
    readers.forEach(Reader::readAsItArrives);
    run(3_000);
    assertEquals(0, lingeringBytes());
    assertFalse(limit.closingShare().isAwaited());
    assertCounted(0);

    for (int host = FIRST + CLOSING; host < FIRST + CLOSING + FEW; host++) {
      download(host, 20_000);
    }
    for (int host = LIVE + 1; host <= LIVE + CLOSING; host++) {
      download(host, 20_000);
    }
    run(3_000);
    crowd.run(3_000); // Nobody reads, and all is counted.
    assertEquals(ends, crowd.ends);
    assertTrue(limit.closingShare().isAwaited());
    assertTrue(lingeringBytes() > 0 && lingeringBytes() < limit.closingShare().bytes());
    assertCounted(lingeringBytes());
  }

  /** The memory that the lingering sessions hold. */
  private long lingeringBytes() {
    long bytes = 0;
    for (Reader reader : readers) {
      Session session = reader.client.serverSession();
      if (reader.host() < LIVE
          && crowds.get(reader.host() % crowds.size()).server.table.lifecycle().contains(session)) {
        bytes += session.kcp().memory().heldBytes();
      }
    }
    return bytes;
  }

  /** The share says only whether it is exceeded. */
  private void assertCounted(long bytes) {
    ClosingShare share = limit.closingShare();
    long unusedBytes = share.bytes() - bytes;
    share.add(0, unusedBytes);
    assertFalse(share.isExceededFrom(0), "more than " + bytes + " bytes");
    share.add(0, 1);
    assertTrue(share.isExceededFrom(0), "less than " + bytes + " bytes");
    share.add(0, -unusedBytes - 1);
  }

  /** They held all that sending may use until their readers had taken it. */
  @Test
  void slowestGiveWayToASessionThatWaits() {
    serve();
    assertSlowestGiveWay();
  }

  @Test
  void slowestOfAllEventLoopsGiveWay() {
    serve();
    serve();
    assertSlowestGiveWay();
  }

  @Test
  void nobodyGivesWayToOthersThatClose() {
    serve();
    close();
    assertTrue(limit.networkParts().isSendAwaited());
    run(10_000);
    assertEquals(Map.of(), crowds.get(0).ends);
  }
}
