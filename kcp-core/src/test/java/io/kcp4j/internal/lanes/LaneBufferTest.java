package io.kcp4j.internal.lanes;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kcp4j.lanes.LaneKind;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.Unpooled;
import java.util.Collections;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Buffers that their sender goes on using, against the rules, after it has sent them. */
class LaneBufferTest {

  private final LanePair pair = LanePair.open();
  private final LanePair.Side client = pair.client;
  private final LanePair.Side server = pair.server;

  LaneBufferTest() {
    pair.run(100);
  }

  @AfterEach
  void nothingIsHeldWhenAllIsClosed() {
    pair.assertNothingHeld();
  }

  @Test
  void releasedBufferIsDroppedAndNothingElseIsLost() {
    server.send(9, "begins lane 9");
    pair.run(100);
    client.lanes.lane(9).shutdownOutput();
    client.queue(3, 500);
    ByteBuf released = client.queue(5, 600);
    client.queue(5, 601);
    client.queue(7, 700);
    released.release();
    client.flush();
    pair.run(200);
    assertEquals(
        List.of("3:500 bytes", "5:601 bytes", "7:700 bytes", "9:end"),
        server.received.stream().sorted().toList());
    assertEquals(
        List.of("3:500 sent", "5:600 UNREADABLE", "5:601 sent", "7:700 sent"),
        client.fates.stream().sorted().toList());
    assertTrue(client.lanes.lane(5).isOutputOpen());
    assertTrue(client.kcp.isDrained());
  }

  @Test
  void bufferThatIsReleasedWhenAPartHasLeftEndsItsLaneAlone() {
    ByteBuf released = client.queue(5, 400_000);
    client.queue(5, 10);
    client.queue(7, 400_000);
    client.flush();
    assertTrue(client.lanes.lane(5).queuedBytes() < 400_000, "a part has left");
    released.release();
    pair.run(2_000);
    assertEquals(List.of("5:end", "7:400000 bytes"), server.received.stream().sorted().toList());
    assertEquals(
        List.of("5:10 LANE_CLOSED", "5:400000 UNREADABLE", "7:400000 sent"),
        client.fates.stream().sorted().toList());
    assertTrue(client.lanes.lane(5).takeOutputStop());
    assertTrue(client.lanes.lane(5).isOutputOpen(), "the end was read");
    assertTrue(client.kcp.isDrained());
  }

  @Test
  void bufferThatIsMadeSmallerIsDropped() {
    client.queue(7, 600).capacity(10);
    client.queue(7, 400_000);
    ByteBuf begun = client.queue(8, 400_000);
    client.flush();
    begun.capacity(10);
    pair.run(2_000);
    assertEquals(List.of("7:400000 bytes", "8:end"), server.received.stream().sorted().toList());
    assertEquals(List.of("7:600 UNREADABLE", "8:400000 UNREADABLE", "7:400000 sent"), client.fates);
    assertTrue(client.kcp.isDrained());
  }

  /** A slice does not notice. */
  @Test
  void bufferWhoseParentIsMadeSmallerIsDropped() {
    ByteBuf parent = LanePair.pattern(400_000);
    client.queue(client.lanes.lane(8), parent.slice(), "8");
    client.flush();
    parent.capacity(10);
    pair.run(2_000);
    assertEquals(List.of("8:end"), server.received);
    assertEquals(List.of("8 UNREADABLE"), client.fates);
    assertTrue(client.kcp.isDrained());
  }

  @Test
  void releasedBufferOfAnUnreliableLaneIsReplacedByWhatPeersSkip() {
    client.lane(5, LaneKind.UNRELIABLE);
    client.queue(5, 3);
    client.queue(5, 4).release();
    client.queue(5, 5);
    client.lanes.lane(5).shutdownOutput();
    int bytes = client.lanes.planUnreliable(1_000, 1_000, true);
    ByteBuf items = Unpooled.buffer();
    client.lanes.writeUnreliable(items);
    assertEquals(bytes, items.readableBytes());
    assertEquals(
        "1007000500000000"
            + "1f3e"
            + "000800"
            + "0000000000000000"
            + "10090005000100"
            + "001f3e5d7c",
        ByteBufUtil.hexDump(items));
    assertEquals(List.of("5:3 sent", "5:4 UNREADABLE", "5:5 sent"), client.fates);
    client.flush();
    pair.run(100);
    assertEquals(List.of("5:end"), server.received);
  }

  /** A message of the extension that says something else, too, has less room. */
  @Test
  void messagesOfAFlushThatHasFailedWaitForAMessageWithRoom() {
    client.lane(5, LaneKind.UNRELIABLE);
    client.queue(5, 100);
    int bytes = client.lanes.planUnreliable(107, 107, true);
    assertEquals(107, bytes);
    ByteBuf items = Unpooled.buffer();
    assertEquals(0, client.lanes.planUnreliable(80, 80, false));
    client.lanes.writeUnreliable(items);
    assertEquals(0, items.readableBytes());
    assertEquals(bytes, client.lanes.planUnreliable(10, 107, true));
    client.lanes.writeUnreliable(items);
    assertEquals(bytes, items.readableBytes());
    client.queue(5, 100);
    client.lanes.planUnreliable(107, 107, true);
    assertEquals(0, client.lanes.planUnreliable(80, 80, true));
    assertEquals(List.of("5:100 sent", "5:100 TOO_LARGE"), client.fates);
  }

  @Test
  void buffersOfAllKindsArriveUnaltered() {
    ByteBuf content = LanePair.pattern(200_000);
    for (ByteBuf sent :
        List.of(
            content.copy(),
            content.copy().asReadOnly(),
            Unpooled.directBuffer().writeBytes(content, 0, 200_000),
            Unpooled.buffer().writeZero(3).writeBytes(content, 0, 200_000).skipBytes(3),
            content.copy().slice(),
            Unpooled.compositeBuffer().addComponent(true, content.copy()),
            Unpooled.wrappedBuffer(content.copy(0, 50_001), content.copy(50_001, 149_999)))) {
      client.queue(client.lanes.lane(5), sent, "5");
    }
    content.release();
    client.flush();
    pair.run(2_000);
    assertEquals(Collections.nCopies(7, "5:200000 bytes"), server.received);
  }

  @Test
  void bufferWhoseIndicesChangeIsSentAsItWas() {
    client.queue(5, 600).clear();
    client.queue(5, 70_000).readerIndex(69_990);
    client.flush();
    pair.run(500);
    assertEquals(List.of("5:600 bytes", "5:70000 bytes"), server.received);
  }

  @Test
  void releasedBufferDoesNotKeepTheSessionFromClosing() {
    client.isLost = n -> true;
    client.queue(5, 4_000_000 / 8 - 100).release();
    for (int lane = 0; lane < 10; lane++) {
      client.queue(lane, 400_000);
    }
    client.lanes.lane(3).outbox.first().release();
    pair.assertNothingHeld();
    assertEquals(11, client.fates.stream().filter(f -> f.endsWith("SESSION_CLOSED")).count());
  }
}
