package io.kcp4j.netty;

import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.kcp4j.CloseReason;
import io.netty.util.NetUtil;
import java.net.DatagramSocket;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.net.SocketException;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;

/** Global IPv6 addresses have no scope in their text, with each transport. */
class Ipv6AddressTest {

  private static final InetSocketAddress ANY_PORT = new InetSocketAddress(NetUtil.LOCALHOST6, 0);

  private static boolean isAvailable() {
    try (DatagramSocket socket = new DatagramSocket(ANY_PORT)) {
      return socket.isBound();
    } catch (SocketException e) {
      return false;
    }
  }

  private static String text(SocketAddress address) {
    return ((InetSocketAddress) address).getAddress().getHostAddress();
  }

  @OverEachTransport
  void addressOfARefusedPeerHasNoScope(TransportUnderTest transport) throws Exception {
    assumeTrue(isAvailable(), "no IPv6");
    try (Fixture fixture = new Fixture(transport)) {
      RefusingFilter filter = new RefusingFilter(new CloseReason(1, ""));
      fixture.serverBootstrap.option(KcpServerChannelOption.ACCEPT_FILTER, filter);
      fixture.serve(Echo::new, ANY_PORT);
      KcpChannel client = fixture.connect(new Recorder());
      client.writeAndFlush(Fixture.buffer(client, new byte[1]));
      client.closeFuture().syncUninterruptibly();
      assertEquals(NetUtil.LOCALHOST6.getHostAddress(), text(filter.refused.get(0)));
    }
  }

  @OverEachTransport
  void addressesHaveNoScope(TransportUnderTest transport) throws Exception {
    assumeTrue(isAvailable(), "no IPv6");
    try (Fixture fixture = new Fixture(transport)) {
      List<String> filtered = new CopyOnWriteArrayList<>();
      fixture.serverBootstrap.option(
          KcpServerChannelOption.ACCEPT_FILTER,
          (remote, conv) -> filtered.add(remote.getAddress().getHostAddress()));
      KcpServerChannel server = fixture.serve(Echo::new, ANY_PORT);
      Recorder recorder = new Recorder();
      fixture.bootstrap.option(KcpChannelOption.CONNECT_PROBE, true);
      KcpChannel client = fixture.connect(recorder);
      client.writeAndFlush(Fixture.buffer(client, new byte[1]));
      await().until(() -> recorder.received() == 1);
      KcpChannel child = fixture.child();

      String expected = NetUtil.LOCALHOST6.getHostAddress();
      assertEquals(List.of(expected, expected), filtered); // The probe, and the first segment.
      assertEquals(expected, text(child.remoteAddress()));
      assertEquals(expected, text(child.localAddress()));
      assertEquals(expected, text(server.localAddress()));
      assertEquals(expected, text(client.localAddress()));
    }
  }
}
