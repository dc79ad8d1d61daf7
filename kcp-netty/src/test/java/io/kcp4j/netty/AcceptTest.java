package io.kcp4j.netty;

import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kcp4j.KcpCounter;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.EventLoop;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;

/** What a server's and a child's first handlers may do while the child is being accepted. */
class AcceptTest {

  @OverEachTransport
  void childWhoseInitializerFailsBeginsNoSession(TransportUnderTest transport) throws Exception {
    try (Fixture fixture = new Fixture(transport)) {
      KcpServerChannel server =
          fixture.serve(
              () -> {
                throw new IllegalStateException("no handler");
              });
      KcpChannel client = fixture.connect(new Recorder());

      client.writeAndFlush(Fixture.buffer(client, new byte[10]));

      await().until(() -> server.counters().get(KcpCounter.CLOSED_SESSION) > 0);
      assertEquals(0, server.sessions());
      assertEquals(1, server.counters().get(KcpCounter.SESSIONS_OPENED));
    }
  }

  @OverEachTransport
  void childThatClosesItsServerAndItselfLeavesNoDeadline(TransportUnderTest transport)
      throws Exception {
    try (Fixture fixture = new Fixture(transport)) {
      KcpServerChannel server =
          fixture.serve(
              () ->
                  new ChannelInboundHandlerAdapter() {
                    @Override
                    public void channelActive(ChannelHandlerContext ctx) {
                      ctx.channel().parent().close();
                      ctx.close();
                    }
                  });
      EventLoop loop = server.eventLoop();
      KcpChannel client = fixture.connect(new Recorder());

      client.writeAndFlush(Fixture.buffer(client, new byte[10]));

      fixture.child().closeFuture().syncUninterruptibly();
      assertEquals(0, loop.submit(() -> KcpLoop.of(loop).wheel().size()).get());
      assertEquals(0, server.sessions());
    }
  }

  @OverEachTransport
  void childIsRefusedWhenItsServerHasClosedTheSocket(TransportUnderTest transport)
      throws Exception {
    try (Fixture fixture = new Fixture(transport)) {
      CompletableFuture<KcpChannel> refused = new CompletableFuture<>();
      fixture.serverBootstrap.handler(
          new ChannelInboundHandlerAdapter() {
            @Override
            public void channelRead(ChannelHandlerContext ctx, Object msg) {
              ctx.close();
              ctx.fireChannelRead(msg);
              refused.complete((KcpChannel) msg);
            }
          });
      fixture.serve(Echo::new);
      KcpChannel client = fixture.connect(new Recorder());

      client.writeAndFlush(Fixture.buffer(client, new byte[10]));

      KcpChannel child = refused.get(10, TimeUnit.SECONDS);
      assertTrue(child.closeFuture().await(10, TimeUnit.SECONDS));
      assertFalse(child.isRegistered());
      assertTrue(fixture.children.isEmpty());
    }
  }
}
