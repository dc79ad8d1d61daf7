package io.kcp4j.internal.arq;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kcp4j.KcpConfig;
import io.kcp4j.internal.wire.Segment;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Somebody replays what the peer sent before an outage: 10,000 datagrams at random times. */
class KcpOutageReplayTest {

  private static final int SECOND_US = 1_000_000;
  private static final int DATAGRAMS = 10_000;
  private static final int USER_TIMEOUT_US = 30 * SECOND_US;

  /** The probes of an outage that has lasted so long leave once in a second. */
  private static final int BEFORE_US = 5 * SECOND_US;

  /** The datagrams of the last exchange: an ACK, a segment and a window update. */
  private static final int NEWEST = 3;

  private static final int REPLAY_US = 20 * SECOND_US;

  /** A session and what its peer has sent. */
  private static final class Recording {

    private final DrivenKcp driven = new DrivenKcp(KcpConfig.builder());
    private final List<ByteBuf> datagrams = new ArrayList<>();
    private final int rttUs;
    private int peerSn;

    Recording(int rttUs) {
      this.rttUs = rttUs;
      driven.peerWnd = 128;
      for (int i = 0; i < 50; i++) {
        exchange();
      }
      for (int i = 0; i < 5; i++) {
        answerAfterAnOutage();
      }
      exchange();
      driven.sent();
    }

    private void receive(ByteBuf datagram) {
      datagrams.add(Unpooled.copiedBuffer(datagram));
      driven.receiveBatch(datagram);
      driven.receiveAll();
      driven.runTo(driven.nowUs);
    }

    /** A segment in each direction, and a window update. */
    private void exchange() {
      driven.sendSegments(1);
      SentSegment sent = data(driven.sent()).get(0);
      driven.runTo(driven.nowUs + rttUs);
      acknowledge(sent);
      receive(driven.push(peerSn++, DrivenKcp.bytes(100)));
      receive(driven.wins());
    }

    private void acknowledge(SentSegment sent) {
      driven.peerUna = sent.sn() + 1;
      receive(driven.ack(sent.sn(), sent.ts()));
    }

    private void answerAfterAnOutage() {
      driven.sendSegments(1);
      driven.sent();
      answerChallenge();
      SentSegment again = data(driven.sent()).get(0);
      driven.runTo(driven.nowUs + rttUs);
      acknowledge(again);
      driven.sent();
    }

    /** Waits for a challenge, and answers it a round trip later. */
    private void answerChallenge() {
      SentSegment challenge = null;
      while (challenge == null) {
        driven.runTo(driven.kcp.nextDeadline());
        challenge = challenges(driven.sent()).stream().findFirst().orElse(null);
      }
      driven.runTo(driven.nowUs + rttUs);
      receive(driven.ack(challenge.sn(), challenge.ts()));
    }

    /** Half of them are of the newest, which are not older than what is known. */
    private ByteBuf any(SplittableRandom random) {
      int newest = Math.min(NEWEST, datagrams.size());
      int datagram = random.nextInt(random.nextBoolean() ? newest : datagrams.size());
      return datagrams.get(datagrams.size() - 1 - datagram);
    }

    /** All that leaves until {@code untilUs}. */
    private List<SentSegment> runTo(long untilUs) {
      driven.runTo(untilUs);
      return driven.sent();
    }

    /** The same while somebody replays datagrams. */
    private List<SentSegment> replayUntil(long untilUs, SplittableRandom random) {
      List<SentSegment> sent = new ArrayList<>();
      long[] timesUs = random.longs(DATAGRAMS, driven.nowUs, untilUs).sorted().toArray();
      for (long atUs : timesUs) {
        driven.runTo(atUs);
        if (driven.kcp.failure() != null) {
          break;
        }
        driven.receiveBatch(any(random));
        driven.runTo(atUs);
        sent.addAll(driven.sent());
      }
      sent.addAll(runTo(untilUs));
      return sent;
    }

    /** Replays until the session has ended, and returns when that was. */
    private long endsAtUs(long latestUs) {
      SplittableRandom random = new SplittableRandom(1);
      long distanceUs = (latestUs - driven.nowUs) / DATAGRAMS;
      while (driven.kcp.failure() == null && driven.nowUs < latestUs) {
        driven.runTo(driven.nowUs + random.nextLong(2 * distanceUs));
        if (driven.kcp.failure() == null) {
          driven.receiveBatch(any(random));
        }
      }
      assertNotNull(driven.kcp.failure());
      return driven.nowUs;
    }
  }

  private static List<SentSegment> data(List<SentSegment> segments) {
    return segments.stream()
        .filter(s -> s.cmd() == Segment.PUSH && s.payload().isReadable())
        .toList();
  }

  private static List<SentSegment> challenges(List<SentSegment> segments) {
    return segments.stream()
        .filter(s -> s.cmd() == Segment.PUSH && !s.payload().isReadable())
        .toList();
  }

  private static List<SentSegment> sentInAnOutage(int rttUs, SplittableRandom replays) {
    Recording recording = new Recording(rttUs);
    recording.driven.sendSegments(3);
    recording.runTo(recording.driven.nowUs + BEFORE_US);
    long untilUs = recording.driven.nowUs + REPLAY_US;
    List<SentSegment> sent =
        replays == null ? recording.runTo(untilUs) : recording.replayUntil(untilUs, replays);
    assertNull(recording.driven.kcp.failure());
    return sent;
  }

  @ParameterizedTest
  @ValueSource(ints = {5_000, 40_000, 200_000})
  void replaysAddOneCopyOfTheOldestSegmentInARoundTrip(int rttUs) {
    List<SentSegment> without = sentInAnOutage(rttUs, null);
    List<SentSegment> with = sentInAnOutage(rttUs, new SplittableRandom(rttUs));
    int added = data(with).size() - data(without).size();
    int copies = REPLAY_US / Math.max(rttUs, 20_000);
    assertTrue(added > copies / 2, "added: " + added);
    assertTrue(added <= copies + 1, "added: " + added + " (expected: at most " + copies + ")");
    assertEquals(challenges(without).size(), challenges(with).size(), "challenges");
  }

  @Test
  void replaysDoNotProlongADeadSession() {
    Recording recording = new Recording(40_000);
    long sinceUs = recording.driven.nowUs;
    recording.driven.sendSegments(3);
    long endsAtUs = recording.endsAtUs(sinceUs + 2L * USER_TIMEOUT_US);
    assertEquals(USER_TIMEOUT_US, (int) (endsAtUs - sinceUs), 20_000.0);
  }

  /** The one true answer does, but not its replays. */
  @Test
  void replaysOfTheLastAnswerDoNotProlongADeadSession() {
    Recording recording = new Recording(40_000);
    recording.driven.sendSegments(3);
    recording.runTo(recording.driven.nowUs + BEFORE_US);
    recording.datagrams.clear();
    recording.answerChallenge();
    long sinceUs = recording.driven.nowUs;
    long endsAtUs = recording.endsAtUs(sinceUs + 2L * USER_TIMEOUT_US);
    assertEquals(USER_TIMEOUT_US, (int) (endsAtUs - sinceUs), 20_000.0);
  }
}
