package io.kcp4j.netty;

import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.kcp4j.KcpCounter;
import io.netty.buffer.Unpooled;
import io.netty.channel.ChannelOption;
import io.netty.channel.epoll.Epoll;
import io.netty.channel.unix.IntegerUnixChannelOption;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Every byte arrives with GSO, GRO and recvmmsg, and without them. */
@Timeout(60)
class OffloadTest {

  /** Linux refuses GSO batches with EINVAL on a socket that sends no checksums. */
  private static final ChannelOption<Integer> SO_NO_CHECK =
      new IntegerUnixChannelOption("io.netty.channel.unix.SO_NO_CHECK", 1, 11);

  private final byte[] data = Fixture.randomBytes(1 << 20);

  @BeforeEach
  void epollOnly() {
    assumeTrue(Epoll.isAvailable(), "epoll is not available on this system");
  }

  @ParameterizedTest
  @CsvSource({"true, true", "true, false", "false, true", "false, false"})
  void batchesAndSingleDatagramsAreReceivedWithAndWithoutGro(boolean gso, boolean gro)
      throws Exception {
    try (Fixture fixture = new Fixture(TransportUnderTest.EPOLL)) {
      fixture.serverBootstrap.option(KcpChannelOption.SOCKET_CONFIG, withOffload(gro));
      fixture.bootstrap.option(KcpChannelOption.SOCKET_CONFIG, withOffload(gso));

      assertEchoed(fixture);
    }
  }

  private static KcpSocketConfig withOffload(boolean offload) {
    return KcpSocketConfig.builder().offload(offload).build();
  }

  private KcpChannel assertEchoed(Fixture fixture) throws Exception {
    fixture.serve(Echo::new);
    Recorder recorder = new Recorder();
    KcpChannel client = fixture.connect(recorder);

    client.writeAndFlush(Unpooled.wrappedBuffer(data));

    await().until(() -> recorder.received() == data.length);
    assertArrayEquals(data, recorder.bytes());
    return client;
  }

  @Test
  void refusedBatchesOfAClientAreSentAsSingleDatagrams() throws Exception {
    try (Fixture fixture = new Fixture(TransportUnderTest.EPOLL)) {
      fixture.bootstrap.option(SO_NO_CHECK, 1);

      KcpChannel client = assertEchoed(fixture);

      assertTrue(client.endpointCounters().get(KcpCounter.GSO_REFUSED) > 0, "nothing was refused");
    }
  }

  @Test
  void refusedBatchesOfAServerAreSentAsSingleDatagrams() throws Exception {
    try (Fixture fixture = new Fixture(TransportUnderTest.EPOLL)) {
      fixture.serverBootstrap.option(SO_NO_CHECK, 1);

      assertEchoed(fixture);

      KcpServerChannel server = fixture.server();
      assertTrue(server.counters().get(KcpCounter.GSO_REFUSED) > 0, "nothing was refused");
    }
  }

  /** Linux refuses GSO batches whose datagrams exceed the MTU of the route. */
  @Test
  void pathMtuBelowADatagramDoesNotStopASession() throws Exception {
    List<String> namespace = List.of("unshare", "--map-root-user", "--net", "sh", "-c");
    assumeTrue(run(namespace, "ip link set lo mtu 1100 up") == 0, "no network namespaces here");
    String java = Path.of(System.getProperty("java.home"), "bin", "java").toString();
    String echo =
        String.join(
            "' '", java, "-cp", System.getProperty("java.class.path"), EchoBatches.class.getName());

    assertEquals(0, run(namespace, "ip link set lo mtu 1100 up && exec '" + echo + "'"));
  }

  private static int run(List<String> prefix, String command) throws Exception {
    List<String> words = new ArrayList<>(prefix);
    words.add(command);
    try {
      return new ProcessBuilder(words).inheritIO().start().waitFor();
    } catch (IOException e) {
      return -1; // There is no such program.
    }
  }

  /** Echoes a megabyte, and fails if no batch was refused. */
  static final class EchoBatches {
    public static void main(String[] args) throws Exception {
      new OffloadTest().refusedBatchesAreEchoed();
      System.exit(0);
    }
  }

  private void refusedBatchesAreEchoed() throws Exception {
    try (Fixture fixture = new Fixture(TransportUnderTest.EPOLL)) {
      KcpChannel client = assertEchoed(fixture);
      assertTrue(client.endpointCounters().get(KcpCounter.GSO_REFUSED) > 0, "nothing was refused");
      assertTrue(fixture.server().counters().get(KcpCounter.GSO_REFUSED) > 0);
    }
  }
}
