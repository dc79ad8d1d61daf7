package io.kcp4j.netty.internal.endpoint;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.kcp4j.netty.internal.endpoint.DatagramReceiver.ReadModeration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

class ReadModerationTest {

  private static final int BATCH = 4;
  private static final int BATCHES_PER_PERIOD = ReadModeration.FLOOD / BATCH;

  private final List<Long> pauses = new ArrayList<>();
  private final ReadModeration moderation = new ReadModeration(pauses::add);
  private long nowUs = 1_000_000;
  private long ofSessions;

  /** Has batches arrive for one period; {@code wanted} of each are datagrams of sessions. */
  private void period(int batches, int wanted) {
    for (int i = 0; i < batches; i++) {
      nowUs += ReadModeration.PERIOD_US / batches;
      ofSessions += wanted;
      moderation.endBatch(BATCH, ofSessions, nowUs);
    }
  }

  /** The pauses after a batch that arrives shortly after what has come before. */
  private List<Long> pausesAfter(int batch) {
    pauses.clear();
    moderation.endBatch(batch, ofSessions, nowUs + 1);
    return pauses;
  }

  private void flood() {
    for (int i = 0; i < 3; i++) {
      period(2 * BATCHES_PER_PERIOD, 1);
    }
  }

  @Test
  void thereIsAPauseAfterEachSmallBatchOfAFlood() {
    flood();

    assertEquals(List.of((long) ReadModeration.PAUSE_US), pausesAfter(1));
    assertEquals(
        List.of((long) ReadModeration.PAUSE_US), pausesAfter(ReadModeration.SMALL_BATCH - 1));
  }

  @Test
  void largeBatchIsFollowedByTheNextAtOnce() {
    flood();

    assertEquals(List.of(), pausesAfter(ReadModeration.SMALL_BATCH));
  }

  @Test
  void unwantedDatagramsAtALowRateCauseNoPause() {
    for (int i = 0; i < 3; i++) {
      period(BATCHES_PER_PERIOD / 2, 0);
    }

    assertEquals(List.of(), pausesAfter(1));
  }

  @Test
  void sessionsThatReceiveMoreThanTheFloodAreNotDelayed() {
    for (int i = 0; i < 3; i++) {
      period(4 * BATCHES_PER_PERIOD, BATCH - 1);
    }

    assertEquals(List.of(), pausesAfter(1));
  }

  @Test
  void datagramsOfSessionsAtAHighRateCauseNoPause() {
    for (int i = 0; i < 3; i++) {
      period(10 * BATCHES_PER_PERIOD, BATCH);
    }

    assertEquals(List.of(), pausesAfter(1));
  }

  @Test
  void pausesEndWithinAPeriodAfterTheFlood() {
    flood();

    for (int i = 0; i < 2; i++) {
      period(50, BATCH);
    }

    assertEquals(List.of(), pausesAfter(1));
  }

  @Test
  void firstDatagramAfterAnIdleTimeCausesNoPause() {
    flood();

    nowUs += 2 * ReadModeration.PERIOD_US;

    assertEquals(List.of(), pausesAfter(1));
  }
}
