package io.kcp4j.examples;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.netty.buffer.ByteBuf;
import io.netty.channel.embedded.EmbeddedChannel;
import java.util.SplittableRandom;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

class GamePlayerTest {

  private static final int ENTITIES = GameTraffic.ENTITIES;

  /** Of three ticks, two are measured. */
  private final GameTraffic traffic = new GameTraffic(1, 1, 2, 0);

  private final LatencySamples samples = new LatencySamples();
  private final EchoCheck check = new EchoCheck();
  private final EmbeddedChannel channel = new EmbeddedChannel();

  @BeforeEach
  void begin() {
    channel.freezeTime();
    GamePlayer player = new GamePlayer(traffic, new SplittableRandom(1), check, samples);
    channel.pipeline().addLast(player, check);
    player.begin(0);
    channel.runScheduledPendingTasks();
  }

  @AfterEach
  void close() {
    channel.finishAndReleaseAll();
  }

  @Test
  void eachTickSendsAMessageForEachEntity() {
    for (int tick = 0; tick < traffic.ticks(); tick++) {
      assertEquals(ENTITIES, echo());
      nextTick();
    }
    assertEquals(0, echo());
  }

  @Test
  void onlyMeasuredTicksAreSampled() {
    echo();
    assertEquals(0, samples.size());
    nextTick();
    echo();
    assertEquals(ENTITIES, samples.size());
    nextTick();
    echo();
    assertEquals(2 * ENTITIES, samples.size());
  }

  @Test
  void checkSucceedsWhenTheMessagesOfTheLastTickAreEchoed() {
    nextTick();
    nextTick();
    assertFalse(check.done().isDone());
    echo();
    assertTrue(check.done().isSuccess());
    assertEquals(3L * ENTITIES * GameTraffic.MESSAGE_BYTES, check.checkedBytes());
  }

  private void nextTick() {
    channel.advanceTimeBy(GameTraffic.TICK_NS, TimeUnit.NANOSECONDS);
    channel.runScheduledPendingTasks();
  }

  /** Echoes what was sent, and returns the number of messages. */
  private int echo() {
    int messages = 0;
    for (ByteBuf message; (message = channel.readOutbound()) != null; messages++) {
      assertEquals(GameTraffic.MESSAGE_BYTES, message.readableBytes());
      channel.writeInbound(message);
    }
    return messages;
  }
}
