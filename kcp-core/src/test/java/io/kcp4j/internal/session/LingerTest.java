package io.kcp4j.internal.session;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kcp4j.EndReason;
import io.kcp4j.KcpConfig;
import io.kcp4j.KcpCounter;
import io.netty.buffer.ByteBuf;
import java.util.List;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Sessions that wait until the peer has acknowledged everything before they close. */
class LingerTest {

  private static final int DELAY_US = 10_000;
  private static final int SECOND_US = 1_000_000;
  private static final int TIMEOUT_MS = 3_000;
  private static final int MAX_MS = 300_000;
  private static final int BYTES = 500_000;

  private final VirtualHost client = new VirtualHost(1);
  private final VirtualHost server = new VirtualHost(2);
  private final SplittableRandom random = new SplittableRandom(1);

  /** The share of packets that is lost. */
  private double loss;

  private boolean isServerStopped;
  private boolean isReaderPaused;

  private List<ByteBuf> toServer = List.of();
  private List<ByteBuf> toClient = List.of();
  private long lingersSinceUs;

  /** The client writes more than the server, whose reader is paused, has room for, and lingers. */
  private void linger(boolean hasExtension, int maxMs) {
    if (hasExtension) {
      client.token = 0x1111_2222_3333_4444L;
      server.token = 0x5555_6666_7777_8888L;
    }
    client.config = KcpConfig.builder().sendQueue(1024).build();
    server.driver.onProgress =
        session -> {
          if (!isReaderPaused) {
            server.read(session);
          }
        };
    client.open(server);
    client.write(10);
    run(SECOND_US);
    assertEquals(10, server.received);
    isReaderPaused = true;
    client.write(BYTES);
    run(SECOND_US);
    lingersSinceUs = client.nowUs;
    client.driver.table.linger(client.session, TIMEOUT_MS, maxMs, client.nowUs);
  }

  private void run(long forUs) {
    long untilUs = client.nowUs + forUs;
    while (client.nowUs < untilUs) {
      client.runTo(client.nowUs + DELAY_US);
      List<ByteBuf> arrivesAtServer = toServer;
      List<ByteBuf> arrivesAtClient = toClient;
      toServer = lossy(client.packets());
      if (!isServerStopped) {
        server.runTo(server.nowUs + DELAY_US);
        toClient = lossy(server.packets());
        server.take(client, arrivesAtServer);
      } else {
        server.nowUs += DELAY_US;
        toClient = List.of();
      }
      client.take(server, arrivesAtClient);
    }
  }

  private List<ByteBuf> lossy(List<ByteBuf> packets) {
    return packets.stream().filter(packet -> random.nextDouble() >= loss).toList();
  }

  /** Lets the reader go on. */
  private void read() {
    isReaderPaused = false;
    server.read(server.session);
    server.flush();
  }

  /** For how long the session has lingered until it ended. */
  private long endsAfterUs() {
    while (client.ends.isEmpty()) {
      run(DELAY_US);
    }
    assertEquals(List.of(EndReason.CLOSE_TIMEOUT), client.ends);
    return client.nowUs - lingersSinceUs;
  }

  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void peerThatReadsLaterHasEverything(boolean hasExtension) {
    linger(hasExtension, MAX_MS);
    run(50L * SECOND_US);
    read();
    run(10L * SECOND_US);
    assertEquals(10 + BYTES, server.received);
    assertTrue(client.session.kcp().isDrained());
    assertEquals(List.of(), client.ends);
  }

  @Test
  void sessionThatHasLingeredAndClosesEndsOnce() {
    linger(true, MAX_MS);
    read();
    run(10L * SECOND_US);
    assertTrue(client.finish());
    isServerStopped = true;
    run(2L * MAX_MS * 1_000);
    assertEquals(0, client.driver.table.size());
    assertEquals(1, client.driver.closed);
    assertEquals(List.of(), client.ends);
  }

  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void unresponsivePeerIsWaitedForAsLongAsWasSet(boolean hasExtension) {
    linger(hasExtension, MAX_MS);
    isServerStopped = true;
    long us = endsAfterUs();
    assertTrue(us >= TIMEOUT_MS * 1_000L && us <= TIMEOUT_MS * 1_250L + DELAY_US, us + " us");
  }

  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void timeCountsFromTheLastAnswer(boolean hasExtension) {
    linger(hasExtension, MAX_MS);
    run(20L * SECOND_US + 123_000);
    isServerStopped = true;
    long us = endsAfterUs() - 20L * SECOND_US - 123_000;
    // A probe may have been answered just before.
    long least = TIMEOUT_MS * 1_000L / 2;
    assertTrue(us >= least && us <= TIMEOUT_MS * 1_250L + DELAY_US, us + " us");
  }

  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void peerThatReadsNothingIsWaitedForAsLongAsWasSet(boolean hasExtension) {
    linger(hasExtension, 20_000);
    long us = endsAfterUs();
    assertTrue(us >= 20L * SECOND_US && us <= 20L * SECOND_US + 2 * DELAY_US, us + " us");
  }

  @Test
  void peerThatTakesNothingIsToldWhatIsMissing() {
    client.driver.onEnd =
        (ended, reason) -> {
          client.ends.add(reason);
          client.driver.table.giveUpClosing(ended, false, client.nowUs);
        };
    linger(true, MAX_MS);
    run(70L * SECOND_US);
    assertEquals(List.of(EndReason.ZERO_WINDOW_TIMEOUT), client.ends);
    assertEquals(0, client.driver.table.size());
    assertTrue(server.session.isInputIncomplete());
    assertEquals(List.of(), server.ends);
    read();
    assertTrue(server.session.isInputFinished());
    assertTrue(server.received > 10 && server.received < BYTES, server.received + " bytes");
  }

  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void lossOfProbesEndsNothing(boolean hasExtension) {
    loss = 0.1;
    linger(hasExtension, MAX_MS);
    run(55L * SECOND_US);
    assertEquals(List.of(), client.ends);
    assertTrue(client.count(KcpCounter.PROBES_OUT) >= 18, "a probe in each quarter");
  }

  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void stopOfThisProcessDoesNotCount(boolean hasExtension) {
    linger(hasExtension, MAX_MS);
    run(5L * SECOND_US);
    client.nowUs += 20L * SECOND_US;
    server.runTo(server.nowUs + 20L * SECOND_US);
    run(5L * SECOND_US);
    assertEquals(List.of(), client.ends);
    read();
    run(10L * SECOND_US);
    assertEquals(10 + BYTES, server.received);
  }
}
