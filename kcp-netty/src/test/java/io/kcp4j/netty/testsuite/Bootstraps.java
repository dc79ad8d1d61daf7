package io.kcp4j.netty.testsuite;

import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.kcp4j.crypto.CipherAlgorithm;
import io.kcp4j.crypto.KeyRing;
import io.kcp4j.crypto.PacketKey;
import io.kcp4j.netty.KcpChannel;
import io.kcp4j.netty.KcpChannelOption;
import io.kcp4j.netty.KcpServerChannel;
import io.kcp4j.netty.KcpSocketConfig;
import io.kcp4j.netty.TransportUnderTest;
import io.netty.bootstrap.Bootstrap;
import io.netty.bootstrap.ServerBootstrap;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.IoHandlerFactory;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.epoll.Epoll;
import io.netty.channel.epoll.EpollIoHandler;
import io.netty.channel.nio.NioIoHandler;
import io.netty.channel.uring.IoUring;
import io.netty.channel.uring.IoUringIoHandler;
import io.netty.testsuite.transport.TestsuitePermutation.BootstrapComboFactory;
import io.netty.testsuite.transport.TestsuitePermutation.BootstrapFactory;
import io.netty.util.concurrent.DefaultThreadFactory;
import java.security.SecureRandom;
import java.util.List;
import java.util.function.Supplier;

/**
 * The bootstraps that Netty's tests run with, for each transport. A client connects by a probe, and
 * a server accepts on it, so that both ends exist once {@code connect} is done, as the tests know
 * it from TCP. They encrypt: what a peer that another test has left behind still sends to a port
 * that the system has given away again would begin a session there, which no test expects.
 */
enum Bootstraps {
  NIO(true, NioIoHandler::newFactory),
  EPOLL(Epoll.isAvailable(), EpollIoHandler::newFactory),
  EPOLL_WITHOUT_OFFLOAD(Epoll.isAvailable(), EpollIoHandler::newFactory),
  IO_URING(IoUring.isAvailable(), IoUringIoHandler::newFactory);

  private static final CipherAlgorithm KEY_ALGORITHM = CipherAlgorithm.AES_128_GCM;

  @SuppressWarnings("ImmutableEnumChecker") // Threads that all tests share.
  private final EventLoopGroup group;

  Bootstraps(boolean available, Supplier<IoHandlerFactory> handlers) {
    group =
        available
            ? new MultiThreadIoEventLoopGroup(
                4, new DefaultThreadFactory(name(), true), handlers.get())
            : null;
  }

  List<BootstrapFactory<Bootstrap>> clients() {
    assumeAvailable();
    return List.of(this::client);
  }

  /** A server and its client, with a key of their own. */
  List<BootstrapComboFactory<ServerBootstrap, Bootstrap>> pairs() {
    assumeAvailable();
    return List.of(new Pair(KeyRing.of(randomKey())));
  }

  private static PacketKey randomKey() {
    byte[] key = new byte[KEY_ALGORITHM.keyBytes()];
    new SecureRandom().nextBytes(key);
    return PacketKey.of(KEY_ALGORITHM, key);
  }

  private void assumeAvailable() {
    assumeTrue(group != null, () -> name() + " is not available on this system");
  }

  private Bootstrap client() {
    return new Bootstrap()
        .group(group)
        .channel(KcpChannel.class)
        .option(KcpChannelOption.SOCKET_CONFIG, socketConfig().build())
        .option(KcpChannelOption.CONNECT_PROBE, true);
  }

  private ServerBootstrap server() {
    return new ServerBootstrap()
        .group(group)
        .channel(KcpServerChannel.class)
        .option(KcpChannelOption.SOCKET_CONFIG, socketConfig().acceptOnProbe(true).build());
  }

  private KcpSocketConfig.Builder socketConfig() {
    return this == EPOLL_WITHOUT_OFFLOAD
        ? TransportUnderTest.withoutOffload()
        : KcpSocketConfig.builder();
  }

  private final class Pair implements BootstrapComboFactory<ServerBootstrap, Bootstrap> {

    private final KeyRing keyRing;

    Pair(KeyRing keyRing) {
      this.keyRing = keyRing;
    }

    @Override
    public ServerBootstrap newServerInstance() {
      return server().option(KcpChannelOption.KEY_RING, keyRing);
    }

    @Override
    public Bootstrap newClientInstance() {
      return client().option(KcpChannelOption.KEY_RING, keyRing);
    }
  }
}
