package io.kcp4j.netty;

import static java.util.concurrent.TimeUnit.SECONDS;
import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kcp4j.netty.internal.endpoint.ProcessLimit;
import io.netty.bootstrap.Bootstrap;
import io.netty.bootstrap.ServerBootstrap;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.local.LocalIoHandler;
import io.netty.channel.nio.NioIoHandler;
import io.netty.util.NetUtil;
import java.net.DatagramSocket;
import java.net.InetSocketAddress;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Servers and clients that fail to open keep no part of the memory limit of the process. */
class ProcessMembershipTest {

  private final EventLoopGroup group = newGroup();
  private final int before = ProcessLimit.get().members();

  private static EventLoopGroup newGroup() {
    return new MultiThreadIoEventLoopGroup(1, NioIoHandler.newFactory());
  }

  @AfterEach
  void endGroup() {
    group.shutdownGracefully(0, 0, SECONDS);
  }

  private ServerBootstrap server() {
    return new ServerBootstrap()
        .group(group)
        .channel(KcpServerChannel.class)
        .childHandler(new ChannelInboundHandlerAdapter());
  }

  private void assertFailsAndLeaves(ChannelFuture opening) {
    assertTrue(opening.awaitUninterruptibly(10, SECONDS));
    assertFalse(opening.isSuccess());
    KcpServerChannel channel = (KcpServerChannel) opening.channel();
    assertTrue(channel.closeFuture().awaitUninterruptibly(10, SECONDS));
    assertTrue(channel.terminationFuture().awaitUninterruptibly(10, SECONDS));
    await().until(() -> ProcessLimit.get().members() <= before);
  }

  private static EventLoopGroup endedGroup() {
    EventLoopGroup ended = newGroup();
    ended.shutdownGracefully(0, 0, SECONDS).syncUninterruptibly();
    return ended;
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 2})
  void serverWhosePortIsTakenIsNoMemberAnyMore(int sockets) throws Exception {
    try (DatagramSocket taken = new DatagramSocket(Fixture.ANY_PORT)) {
      assertFailsAndLeaves(
          server()
              .option(KcpServerChannelOption.SOCKETS, sockets)
              .bind(taken.getLocalSocketAddress()));
    }
  }

  @Test
  void serverWhoseSocketsHaveNoUdpIsNoMember() {
    EventLoopGroup local = new MultiThreadIoEventLoopGroup(1, LocalIoHandler.newFactory());
    assertFailsAndLeaves(
        server().option(KcpServerChannelOption.SOCKET_GROUP, local).bind(Fixture.ANY_PORT));
    local.shutdownGracefully(0, 0, SECONDS);
  }

  @Test
  void serverWhoseSocketGroupHasEndedIsNoMemberAnyMore() {
    assertFailsAndLeaves(
        server().option(KcpServerChannelOption.SOCKET_GROUP, endedGroup()).bind(Fixture.ANY_PORT));
  }

  @Test
  void serverWhoseEventLoopHasEndedIsNoMember() {
    assertFailsAndLeaves(
        new ServerBootstrap()
            .group(endedGroup())
            .channel(KcpServerChannel.class)
            .childHandler(new ChannelInboundHandlerAdapter())
            .bind(Fixture.ANY_PORT));
  }

  @Test
  void clientsThatFailToConnectLeaveTheirGroupAMemberUntilItEnds() {
    for (int i = 0; i < 3; i++) {
      Bootstrap client =
          new Bootstrap()
              .group(group)
              .channel(KcpChannel.class)
              .handler(new ChannelInboundHandlerAdapter());
      ChannelFuture refused =
          client.connect(
              new InetSocketAddress(NetUtil.LOCALHOST, 9),
              InetSocketAddress.createUnresolved("no", 1));
      assertTrue(refused.awaitUninterruptibly(10, SECONDS));
      assertFalse(refused.isSuccess());
      assertTrue(refused.channel().closeFuture().awaitUninterruptibly(10, SECONDS));
    }
    assertEquals(before + 1, ProcessLimit.get().members(), "the group, not each client");
    group.shutdownGracefully(0, 0, SECONDS).syncUninterruptibly();
    await().until(() -> ProcessLimit.get().members() <= before);
  }
}
