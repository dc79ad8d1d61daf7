package io.kcp4j.netty;

import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kcp4j.Delivery;
import io.kcp4j.KcpCounter;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.util.ReferenceCountUtil;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.condition.DisabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;

/** Peers that have proven their addresses, and hold as much of the server's memory as they can. */
@Timeout(60)
@Execution(ExecutionMode.CONCURRENT)
@DisabledOnOs(value = OS.MAC, disabledReason = "it has only one address of 127.0.0.0/8")
class ValidatedAttackTest {

  private static final long LIMIT_BYTES = 2 << 20;
  private static final int PEERS = 40;

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

  /** Each peer sends a byte, and acknowledges its echo. */
  private static void validate(Attack attack) throws Exception {
    for (int i = 0; i < attack.peers().size(); i++) {
      RawPeer peer = attack.peers().get(i);
      attack.send(peer, Attack.push(conv(i), 0, 0, 1));
      peer.send(peer.acknowledgement());
    }
    attack.awaitRead();
  }

  private static void assertHeldAtMostTheLimit(Attack attack) {
    attack.noteHeld();
    assertTrue(attack.mostHeldBytes() > LIMIT_BYTES / 4, "held " + attack.mostHeldBytes());
    assertTrue(attack.mostHeldBytes() <= LIMIT_BYTES, "held " + attack.mostHeldBytes());
  }

  @Test
  void partsOfMessagesOfOneAddressLeaveMemoryToOthers() throws Exception {
    try (Fixture fixture = fixture(Delivery.MESSAGE)) {
      fixture.serve(Echo::new);
      try (Attack attack = new Attack(fixture).peersAtOneAddress(PEERS)) {
        validate(attack);
        for (int sn = 1; sn < 60; sn++) {
          for (int i = 0; i < PEERS; i++) {
            attack.send(attack.peers().get(i), Attack.push(conv(i), sn, 120 - sn, 1_000));
          }
        }
        attack.awaitRead();
        List<Recorder> recorders = new ArrayList<>();
        for (int i = 0; i < 5; i++) {
          Recorder recorder = new Recorder();
          KcpChannel honest = fixture.connect(recorder);
          honest.writeAndFlush(Fixture.buffer(honest, new byte[100_000]));
          recorders.add(recorder);
        }
        await()
            .until(
                () -> {
                  attack.noteHeld();
                  return recorders.stream().allMatch(recorder -> recorder.received() == 100_000);
                });
        assertHeldAtMostTheLimit(attack);
      }
    }
  }

  @Test
  void answersThatOneAddressDoesNotTakeLeaveTheShareOfSendingToOthers() throws Exception {
    int answerBytes = 400_000;
    try (Fixture fixture = fixture(Delivery.STREAM)) {
      fixture.serve(() -> new EchoThenAnswer(answerBytes));
      try (Attack attack = new Attack(fixture).peersAtOneAddress(PEERS)) {
        validate(attack);
        for (int i = 0; i < PEERS; i++) {
          attack.send(attack.peers().get(i), Attack.push(conv(i), 1, 0, 1));
        }
        attack.awaitRead();
        await()
            .until(
                () -> {
                  attack.noteHeld();
                  return attack.mostHeldBytes() > LIMIT_BYTES / 4;
                });
        Recorder recorder = new Recorder();
        KcpChannel honest = fixture.connect(recorder);
        honest.writeAndFlush(Fixture.buffer(honest, new byte[1]));
        await().until(() -> recorder.received() == 1);
        honest.writeAndFlush(Fixture.buffer(honest, new byte[1]));
        await()
            .until(
                () -> {
                  attack.noteHeld();
                  return recorder.received() == 1 + answerBytes;
                });
        assertHeldAtMostTheLimit(attack);
      }
    }
  }

  /** Echoes the first read, and answers others by many bytes. */
  private static final class EchoThenAnswer extends ChannelInboundHandlerAdapter {
    private final int answerBytes;
    private boolean hasEchoed;

    EchoThenAnswer(int answerBytes) {
      this.answerBytes = answerBytes;
    }

    @Override
    public void channelRead(ChannelHandlerContext ctx, Object msg) {
      if (hasEchoed) {
        ReferenceCountUtil.release(msg);
        ctx.writeAndFlush(Unpooled.wrappedBuffer(new byte[answerBytes]));
      } else {
        hasEchoed = true;
        ctx.writeAndFlush(msg);
      }
    }
  }

  // Without an attacker

  /**
   * With twelve clients messages never arrived: each waited for memory that parts of the others'
   * held. The messages of nine arrive sooner one after another.
   */
  @Test
  void largeMessagesOfManyClientsArriveThatDoNotFitTogether() throws Exception {
    int bytes = 130_000;
    int clients = 9;
    try (Fixture fixture = fixture(Delivery.LANES)) {
      fixture.serverBootstrap.option(KcpServerChannelOption.MEMORY_LIMIT, LIMIT_BYTES / 2);
      List<LaneRecorder> recorders = new CopyOnWriteArrayList<>();
      KcpServerChannel server =
          fixture.serve(
              () -> {
                recorders.add(new LaneRecorder());
                return recorders.get(recorders.size() - 1);
              });
      List<KcpChannel> sessions = new ArrayList<>();
      for (int i = 0; i < clients; i++) {
        sessions.add(fixture.connect(new LaneRecorder()));
      }
      for (KcpChannel client : sessions) {
        ByteBuf content = Fixture.buffer(client, new byte[bytes]);
        client.writeAndFlush(new LaneMessage(1, content));
      }
      await()
          .until(
              () ->
                  recorders.stream().mapToLong(LaneRecorder::bytes).sum()
                      == (long) clients * bytes);
      assertEquals(0, server.counters().get(KcpCounter.SESSIONS_SHORT_OF_MEMORY));
      for (KcpChannel session : sessions) {
        assertNull(session.endReason());
      }
    }
  }
}
