package io.kcp4j.netty.smux.testsuite;

import io.netty.bootstrap.Bootstrap;
import io.netty.bootstrap.ServerBootstrap;
import io.netty.testsuite.transport.TestsuitePermutation.BootstrapComboFactory;
import io.netty.testsuite.transport.socket.SocketSslEchoTest;
import java.util.Collection;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.Parameter;

/** A few of the 96 combinations of Netty's test: TLS within a stream. */
@Tag("slow")
@OnEveryConnection
class SmuxSocketSslEchoQuickTest extends SocketSslEchoTest {

  /** Meets every kind of renegotiation, and every switch both on and off. */
  private static final int STEP = 27;

  @Parameter StreamBootstraps bootstraps;

  /** Found by its name, instead of the one that it hides. */
  public static Collection<Object[]> data() throws Exception {
    List<Object[]> all = List.copyOf(SocketSslEchoTest.data());
    return IntStream.range(0, all.size()).filter(i -> i % STEP == 0).mapToObj(all::get).toList();
  }

  @Override
  protected List<BootstrapComboFactory<ServerBootstrap, Bootstrap>> newFactories() {
    return bootstraps.relayedPairs();
  }
}
