package io.kcp4j.netty;

import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kcp4j.Delivery;
import io.kcp4j.KcpCounter;
import io.kcp4j.crypto.CipherAlgorithm;
import io.kcp4j.crypto.KeyRing;
import io.kcp4j.crypto.PacketKey;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.ChannelHandler;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelInitializer;
import io.netty.util.ReferenceCountUtil;
import java.io.IOException;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.condition.DisabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Attacks from addresses that answer nothing: what a server holds, allocates and sends, and that an
 * honest client is served meanwhile.
 */
@Timeout(60)
@Execution(ExecutionMode.CONCURRENT)
@DisabledOnOs(value = OS.MAC, disabledReason = "it has only one address of 127.0.0.0/8")
class ForgedAttackTest {

  private static final int MIB = 1 << 20;
  private static final long LIMIT_BYTES = 4 * MIB;

  /** What unvalidated sessions may hold together. */
  private static final long SHARE_BYTES = LIMIT_BYTES / 16;

  /** The same with what the honest session may hold meanwhile: channels of its lanes, above all. */
  private static final long MOST_HELD_BYTES = SHARE_BYTES + 64 * 1024;

  /** Fewer sessions than begin in a second before peers have to repeat their first datagram. */
  private static final int PEERS = 100;

  /** What an address is sent beside three bytes for each one received: 8.7 of protocol.md. */
  private static final int EXCESS_BYTES = 8 * 64 + 8 * 24;

  private static Fixture fixture(Delivery delivery) {
    Fixture fixture = new Fixture(TransportUnderTest.NIO);
    fixture.serverBootstrap.option(KcpServerChannelOption.MEMORY_LIMIT, LIMIT_BYTES);
    fixture.serverBootstrap.childOption(KcpChannelOption.DELIVERY, delivery);
    fixture.bootstrap.option(KcpChannelOption.DELIVERY, delivery);
    return fixture;
  }

  private static int conv(int peer) {
    return 1_000_000 + peer;
  }

  private static void beginLanes(Attack attack) throws IOException {
    for (int i = 0; i < attack.peers().size(); i++) {
      attack.send(attack.peers().get(i), Attack.beginLanes(conv(i)));
    }
    attack.awaitRead();
  }

  /** Buffers are the sockets', too, and those of what is read. */
  private static void assertHeldLittle(Attack attack) {
    assertTrue(attack.mostHeldBytes() <= MOST_HELD_BYTES, "held " + attack.mostHeldBytes());
    long bufferBytes = attack.mostBufferBytes();
    assertTrue(bufferBytes <= 2 * MOST_HELD_BYTES, "buffers of " + bufferBytes);
  }

  private static void assertSentLittle(Attack attack, int bytesOfEach) throws IOException {
    for (RawPeer peer : attack.peers()) {
      int bytes = Attack.received(peer);
      assertTrue(bytes <= 3 * bytesOfEach + EXCESS_BYTES, "sent " + bytes);
    }
  }

  // Rings of lane inboxes

  /** Each segment allocated 48 MB: arrays as large as the distance of the numbers. */
  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void segmentsOfNumbersFarAheadAllocateLittle(boolean isMalformed) throws Exception {
    try (Fixture fixture = fixture(Delivery.LANES)) {
      KcpServerChannel server = fixture.serve(Echo::new);
      Honest honest = new Honest(fixture, Delivery.LANES);
      try (Attack attack = new Attack(fixture).peers(4)) {
        beginLanes(attack);
        sendNumbersFarAhead(attack, 1, isMalformed); // Loads all classes.
        attack.resetAllocatedBytes();
        sendNumbersFarAhead(attack, 2, isMalformed);
        sendNumbersFarAhead(attack, 3, isMalformed);
        assertTrue(attack.allocatedBytes() < 8 * 50_000, "allocated " + attack.allocatedBytes());
        assertHeldLittle(attack);
        if (isMalformed) {
          await().until(() -> server.counters().get(KcpCounter.LANE_FRAMES_REFUSED) == 12);
        }
        honest.assertEchoes(100_000);
        assertSentLittle(attack, 4_500);
      }
    }
  }

  private static void sendNumbersFarAhead(Attack attack, int sn, boolean isMalformed)
      throws IOException {
    for (int i = 0; i < attack.peers().size(); i++) {
      ByteBuf frames = Unpooled.buffer();
      for (int lane = 0; lane < 170; lane++) {
        Attack.emptyMessage(frames, lane, 65_000);
      }
      if (isMalformed) {
        frames.writeByte(0xff);
      }
      attack.send(attack.peers().get(i), Attack.push(conv(i), sn, 0, frames));
    }
  }

  // Memory that is pinned

  /** A byte of each message held a buffer up to its place. */
  @ParameterizedTest
  @ValueSource(ints = {15_000, 520_000})
  void fragmentsOfMessagesOnLanesHoldASixteenth(int offset) throws Exception {
    try (Fixture fixture = fixture(Delivery.LANES)) {
      fixture.serve(Echo::new);
      Honest honest = new Honest(fixture, Delivery.LANES);
      try (Attack attack = new Attack(fixture).peers(PEERS)) {
        beginLanes(attack);
        for (int i = 0; i < PEERS; i++) {
          ByteBuf frames = Unpooled.buffer();
          for (int lane = 0; lane < 7; lane++) {
            Attack.fragment(frames, lane, 524_000, offset);
          }
          attack.send(attack.peers().get(i), Attack.push(conv(i), 1, 0, frames));
        }
        attack.awaitRead();
        assertHeldLittle(attack);
        honest.assertEchoes(400_000);
        assertSentLittle(attack, 300);
      }
    }
  }

  @ParameterizedTest
  @EnumSource(
      value = Delivery.class,
      names = {"STREAM", "MESSAGE"})
  void partsOfMessagesAndDataBeyondGapsHoldASixteenth(Delivery delivery) throws Exception {
    try (Fixture fixture = fixture(delivery)) {
      fixture.serve(Echo::new);
      Honest honest = new Honest(fixture, delivery);
      try (Attack attack = new Attack(fixture).peers(PEERS)) {
        boolean isMessage = delivery == Delivery.MESSAGE;
        for (int sn = 0; sn < 40; sn++) {
          for (int i = 0; i < PEERS; i++) {
            int frg = isMessage ? 120 - sn : 0;
            int atGap = isMessage || sn == 0 ? sn : sn + 1;
            attack.send(attack.peers().get(i), Attack.push(conv(i), atGap, frg, 1_000));
          }
        }
        attack.awaitRead();
        assertHeldLittle(attack);
        honest.assertEchoes(100_000);
      }
    }
  }

  /** What waited for addresses that acknowledge nothing filled the share of sending. */
  @Test
  void largeAnswersLeaveTheShareOfSendingToOthers() throws Exception {
    int answerBytes = 2 * MIB;
    try (Fixture fixture = fixture(Delivery.STREAM)) {
      ByteBuf answer = Unpooled.buffer(answerBytes).writeZero(answerBytes);
      KcpServerChannel server = fixture.serve(() -> new Answer(answer));
      try (Attack attack = new Attack(fixture).peers(PEERS)) {
        for (int i = 0; i < PEERS; i++) {
          attack.send(attack.peers().get(i), Attack.push(conv(i), 0, 0, 10));
        }
        await().until(() -> server.counters().get(KcpCounter.SESSIONS_OPENED) > PEERS / 3);
        attack.awaitRead();
        assertHeldLittle(attack);
        Recorder recorder = new Recorder();
        KcpChannel honest = fixture.connect(recorder);
        honest.writeAndFlush(Fixture.buffer(honest, new byte[1]));
        await().until(() -> recorder.received() == answerBytes);
        assertSentLittle(attack, 34);
      }
    }
  }

  /** Answers a request by 2 MiB. */
  private static final class Answer extends ChannelInboundHandlerAdapter {
    private final ByteBuf answer;

    Answer(ByteBuf answer) {
      this.answer = answer;
    }

    @Override
    public void channelRead(ChannelHandlerContext ctx, Object msg) {
      ReferenceCountUtil.release(msg);
      ctx.writeAndFlush(answer.retainedDuplicate());
    }
  }

  // Channels of lanes

  /** A session had as many channels as its peer named lanes, for a few bytes each. */
  @Test
  void peersThatHaveNotAnsweredGetFewChannelsOfLanes() throws Exception {
    AtomicInteger lanes = new AtomicInteger();
    try (Fixture fixture = fixture(Delivery.LANES)) {
      fixture.serve(() -> acceptor(lanes));
      Honest honest = new Honest(fixture, Delivery.LANES);
      int honestLanes = lanes.get();
      int channels = 0;
      try (Attack attack = new Attack(fixture).peers(20)) {
        beginLanes(attack);
        for (int i = 0; i < 20; i++) {
          for (int sn = 1; sn <= 100; sn++) {
            ByteBuf frames = Unpooled.buffer();
            Attack.emptyMessage(frames, sn, 0);
            Attack.emptyMessage(frames, 100 + sn, 0);
            attack.send(attack.peers().get(i), Attack.push(conv(i), sn, 0, frames));
            channels = Math.max(channels, lanes.get() - honestLanes);
          }
        }
        attack.awaitRead();
        assertTrue(channels > 0);
        assertTrue(channels * 4_096L <= SHARE_BYTES, "channels: " + channels);
        assertHeldLittle(attack);
        honest.assertEchoes(100_000);
      }
    }
  }

  private static ChannelHandler acceptor(AtomicInteger lanes) {
    return new LaneMultiplexHandler(
        new ChannelInitializer<LaneChannel>() {
          @Override
          protected void initChannel(LaneChannel lane) {
            lanes.incrementAndGet();
            lane.closeFuture().addListener(closed -> lanes.decrementAndGet());
            lane.pipeline().addLast(new Echo());
          }
        });
  }

  // With an AEAD

  @Test
  void packetsWithoutTheKeyCostOneDecryptionEachAndNothingElse() throws Exception {
    try (Fixture fixture = fixture(Delivery.LANES)) {
      KeyRing keys = KeyRing.of(PacketKey.ofPassphrase(CipherAlgorithm.AES_128_GCM, "k"));
      fixture.serverBootstrap.option(KcpChannelOption.KEY_RING, keys);
      KcpServerChannel server = fixture.serve(Echo::new);
      long heldBefore = server.usedMemoryBytes();
      try (Attack attack = new Attack(fixture).peers(PEERS)) {
        beginLanes(attack);
        sendNumbersFarAhead(attack, 1, false);
        await().until(() -> server.counters().get(KcpCounter.DECRYPT_FAILED) >= 2 * PEERS);
        assertEquals(2 * PEERS, server.counters().get(KcpCounter.DECRYPT_FAILED));
        assertEquals(0, server.sessions());
        assertEquals(heldBefore, server.usedMemoryBytes());
        for (RawPeer peer : attack.peers()) {
          assertEquals(0, Attack.received(peer));
        }
      }
    }
  }

  // The honest client

  /** A client whose session has begun before the attack. */
  private static final class Honest {

    private final Recorder stream = new Recorder();
    private final LaneRecorder lanes = new LaneRecorder();
    private final KcpChannel session;
    private int sent;

    Honest(Fixture fixture, Delivery delivery) {
      session = fixture.connect(delivery == Delivery.LANES ? lanes : stream);
      assertEchoes(1);
    }

    /** On lanes as one message, beside a small one on each of ten other lanes. */
    void assertEchoes(int bytes) {
      ByteBuf content = Fixture.buffer(session, new byte[bytes]);
      sent += bytes;
      if (session.lanes() == null) {
        session.writeAndFlush(content);
        await().until(() -> stream.received() == sent);
        return;
      }
      for (int lane = 1; lane <= 10; lane++) {
        session.write(new LaneMessage(lane, Fixture.buffer(session, new byte[1])));
      }
      sent += 10;
      session.writeAndFlush(new LaneMessage(0, content));
      await().until(() -> lanes.bytes() == sent);
    }
  }
}
