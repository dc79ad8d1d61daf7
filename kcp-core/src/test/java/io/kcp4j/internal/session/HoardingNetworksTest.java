package io.kcp4j.internal.session;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kcp4j.Delivery;
import io.kcp4j.EndReason;
import io.kcp4j.KcpConfig;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** Networks each of which holds no more than its part, and all together everything. */
class HoardingNetworksTest {

  private static final int MIB = 1 << 20;
  private static final int NETWORKS = 12;
  private static final int SESSIONS = 5;
  private static final int FRAGMENTS = 120;

  private Crowd crowd = crowd(Delivery.MESSAGE);

  private static Crowd crowd(Delivery delivery) {
    return new Crowd(
        8 * MIB, KcpConfig.builder().delivery(delivery).receiveWindow(512).sendWindow(512).build());
  }

  /** Validated sessions hold nine tenths of a message, and go on with it at long intervals. */
  private void hoard() {
    crowd.onRead =
        session -> {
          if (session.kcp().sendUna() == 0 && session.kcp().isDrained()) {
            session.kcp().send(Unpooled.buffer().writeZero(10));
          }
        };
    for (int host = 2; host < 2 + NETWORKS; host++) {
      for (int port = 1; port <= SESSIONS; port++) {
        crowd.client(host, port).send(10);
      }
    }
    crowd.run(200);
    for (int sn = 1; sn <= FRAGMENTS * 9 / 10; sn++) {
      forgeAll(sn);
      crowd.run(1);
    }
  }

  private void forgeAll(int sn) {
    for (int host = 2; host < 2 + NETWORKS; host++) {
      for (int port = 1; port <= SESSIONS; port++) {
        crowd.forge(host, port, sn, FRAGMENTS - sn, 1_300);
      }
    }
  }

  /** They waited for half a minute, until their sessions ended. */
  @Test
  void smallMessagesOfOthersDoNotWait() {
    Crowd.Client honest = crowd.client(100).ping();
    hoard();
    assertTrue(crowd.budget.roomBytesWithReserve() < 2 * MIB);
    honest.delaysUs.clear();
    for (int second = 0; second < 20; second++) {
      forgeAll(FRAGMENTS * 9 / 10 + 1 + second % 10);
      crowd.run(1_000);
    }
    assertTrue(honest.delaysUs.size() > 990, "" + honest.delaysUs.size());
    List<Long> sorted = honest.delaysUs.stream().sorted().toList();
    assertTrue(sorted.get(sorted.size() - 1) < 200_000, "" + sorted.get(sorted.size() - 1));
    assertEquals(List.of(), honest.clientEnds);
  }

  @Test
  void largerMessagesOfOthersWaitForOneTurnOfTheReserve() {
    hoard();
    Crowd.Client honest = crowd.client(100);
    for (int i = 1; i <= 10; i++) {
      honest.send(50_000);
      long sentAtUs = crowd.nowUs;
      while (crowd.received.getOrDefault(honest.address, 0L) < 50_000L * i) {
        forgeAll(FRAGMENTS * 9 / 10 + 1 + i);
        crowd.run(500);
        long delayUs = crowd.nowUs - sentAtUs;
        assertTrue(delayUs < 5_000_000, "message " + i + ": " + delayUs);
      }
    }
    assertEquals(List.of(), honest.clientEnds);
  }

  // Sending

  /** An answer of 600,000 bytes took a minute. */
  @Test
  void answersDoNotWaitForNetworksThatTakeNone() {
    crowd = crowd(Delivery.STREAM);
    hoardAnswers(6, 10);
    Crowd.Client honest = crowd.client(100).send(1);
    for (int i = 0; i < 100 && honest.receivedBytes < 600_000; i++) {
      crowd.run(100);
    }
    assertTrue(honest.receivedBytes >= 600_000, "" + honest.receivedBytes);
  }

  /** As long as they took something now and then, their sessions stayed. */
  @Test
  void sessionsThatTakeAlmostNothingOfTheirAnswersEndWhileOthersWait() {
    crowd = crowd(Delivery.STREAM);
    hoardAnswers(40, 2);
    Crowd.Client honest = crowd.client(100).send(1);
    for (int i = 0; i < 20 && honest.receivedBytes < 600_000; i++) {
      crowd.run(1_000);
    }
    assertTrue(honest.receivedBytes >= 600_000, "" + honest.receivedBytes);
    assertFalse(crowd.ends.containsKey(honest.address));
    assertTrue(crowd.ends.containsValue(EndReason.MEMORY_SHORTAGE), "" + crowd.ends);
  }

  /** Each session is validated, asks for an answer of 600,000 bytes, and then receives nothing. */
  private void hoardAnswers(int networks, int sessions) {
    Map<Session, ByteBuf> answers = new HashMap<>();
    crowd.onRead =
        session -> {
          boolean isAsked = crowd.received.containsKey(session.remote());
          ByteBuf answer = answers.computeIfAbsent(session, s -> Unpooled.buffer(600_000));
          if (isAsked && answer.writerIndex() == 0) {
            answer.writeZero(600_000);
          }
          session.kcp().send(answer);
        };
    for (int host = 2; host < 2 + networks; host++) {
      for (int port = 1; port <= sessions; port++) {
        crowd.client(host, port).send(1);
      }
      crowd.run(30); // The first segments are acknowledged.
      for (int port = 1; port <= sessions; port++) {
        crowd.disconnect(host, port);
      }
    }
    crowd.run(500);
    assertFalse(crowd.budget.hasRoomToSend(MIB));
  }
}
