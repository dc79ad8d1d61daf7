package io.kcp4j.netty;

import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kcp4j.KcpCounter;
import io.kcp4j.internal.memory.MemoryLimit;
import io.kcp4j.internal.wire.Segment;
import io.kcp4j.netty.internal.endpoint.ProcessLimit;
import io.netty.bootstrap.Bootstrap;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.Unpooled;
import io.netty.channel.ChannelHandler;
import io.netty.channel.EventLoopGroup;
import java.io.IOException;
import java.net.DatagramPacket;
import java.net.DatagramSocket;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** A server that fills the memory of its clients, which have a limit together. */
@Timeout(60)
class HostileServerTest {

  private static final int LIMIT_BYTES = 1 << 20;
  private static final int CLIENTS = 10;
  private static final int SEGMENTS = 200;

  /** Clients had no limit but the window of each. */
  @Test
  void dataBeyondGapsOfAllClientsHasALimitAndOtherServersAreReceivedFrom() throws Exception {
    EventLoopGroup group = TransportUnderTest.NIO.newGroup(1);
    ProcessLimit.limitClients(group, MemoryLimit.shared(LIMIT_BYTES));
    try (Fixture fixture = new Fixture(TransportUnderTest.NIO);
        DatagramSocket hostile = new DatagramSocket(Fixture.ANY_PORT)) {
      Recorder recorder = new Recorder();
      KcpServerChannel server = fixture.serve(Echo::new);
      KcpChannel honest = connect(group, server.localAddress(), recorder);
      List<KcpChannel> victims = new ArrayList<>();
      Set<Integer> answered = new HashSet<>();
      for (int i = 0; i < CLIENTS; i++) {
        InetSocketAddress address = (InetSocketAddress) hostile.getLocalSocketAddress();
        KcpChannel victim = connect(group, address, new Recorder());
        victim.writeAndFlush(Unpooled.wrappedBuffer(new byte[1]));
        answer(hostile, answered);
        victims.add(victim);
      }
      await().until(() -> overBudget(victims) > 0);
      assertTrue(usedMemoryBytes(victims) > LIMIT_BYTES / 8, "held " + usedMemoryBytes(victims));
      assertTrue(usedMemoryBytes(victims) <= LIMIT_BYTES, "held " + usedMemoryBytes(victims));

      honest.writeAndFlush(Unpooled.wrappedBuffer(new byte[100_000]));
      await().until(() -> recorder.received() == 100_000);
      victims.forEach(victim -> victim.config().setOption(KcpChannelOption.LINGER, 0));
    } finally {
      group.shutdownGracefully(0, 5, TimeUnit.SECONDS).syncUninterruptibly();
    }
  }

  private static KcpChannel connect(
      EventLoopGroup group, InetSocketAddress remote, ChannelHandler handler) {
    Bootstrap client = new Bootstrap().group(group).channel(KcpChannel.class).handler(handler);
    return (KcpChannel) client.connect(remote).syncUninterruptibly().channel();
  }

  /** Answers the next client by all that its window takes but the first segment. */
  private static void answer(DatagramSocket server, Set<Integer> answered) throws IOException {
    DatagramPacket first = new DatagramPacket(new byte[2048], 2048);
    ByteBuf request = Unpooled.wrappedBuffer(first.getData());
    int conv;
    do { // Those that have been answered send again.
      server.receive(first);
      conv = Segment.conv(request, 0);
    } while (!answered.add(conv));
    ByteBuf ack = Unpooled.buffer();
    Segment.write(ack, conv, Segment.ACK, 0, 128, Segment.ts(request, 0), 0, 1, 0);
    send(server, ack, first);
    for (int sn = 1; sn <= SEGMENTS; sn++) {
      send(server, Attack.push(conv, sn, 0, 1_000), first);
    }
  }

  private static void send(DatagramSocket server, ByteBuf out, DatagramPacket first)
      throws IOException {
    byte[] datagram = ByteBufUtil.getBytes(out);
    server.send(new DatagramPacket(datagram, datagram.length, first.getSocketAddress()));
  }

  private static long usedMemoryBytes(List<KcpChannel> clients) {
    return clients.stream().mapToLong(client -> client.stats().usedMemoryBytes()).sum();
  }

  private static long overBudget(List<KcpChannel> clients) {
    return clients.stream()
        .mapToLong(client -> client.stats().counters().get(KcpCounter.OVER_BUDGET))
        .sum();
  }
}
