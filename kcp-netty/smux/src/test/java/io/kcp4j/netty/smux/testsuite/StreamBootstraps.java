package io.kcp4j.netty.smux.testsuite;

import io.kcp4j.netty.smux.ConnectionType;
import io.kcp4j.smux.SmuxConfig;
import io.netty.bootstrap.Bootstrap;
import io.netty.bootstrap.ServerBootstrap;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.nio.NioIoHandler;
import io.netty.testsuite.transport.TestsuitePermutation.BootstrapComboFactory;
import io.netty.util.concurrent.DefaultThreadFactory;
import java.util.List;

/** The bootstraps that Netty's tests run with, for each kind of connection. */
enum StreamBootstraps {
  TCP_VERSION_1(ConnectionType.TCP, 1),
  TCP_VERSION_2(ConnectionType.TCP, 2),
  TLS_VERSION_2(ConnectionType.TLS, 2),
  KCP_VERSION_1(ConnectionType.KCP, 1),
  KCP_VERSION_2(ConnectionType.KCP, 2);

  private static final EventLoopGroup GROUP =
      new MultiThreadIoEventLoopGroup(
          4, new DefaultThreadFactory("smux-testsuite", true), NioIoHandler.newFactory());

  private final ConnectionType type;
  private final int version;

  StreamBootstraps(ConnectionType type, int version) {
    this.type = type;
    this.version = version;
  }

  private SmuxConfig config() {
    return SmuxConfig.builder().version(version).build();
  }

  List<BootstrapComboFactory<ServerBootstrap, Bootstrap>> pairs() {
    return List.of(new Pair());
  }

  /** Pairs whose clients have no parent, see {@link RelayedBootstrap}. */
  List<BootstrapComboFactory<ServerBootstrap, Bootstrap>> relayedPairs() {
    return List.of(new RelayedPair());
  }

  private final class RelayedPair extends Pair {
    @Override
    public Bootstrap newClientInstance() {
      return new RelayedBootstrap(GROUP, newStreamBootstrap());
    }
  }

  private class Pair implements BootstrapComboFactory<ServerBootstrap, Bootstrap> {

    private final ServerBootstrap server = new ServerBootstrap().group(GROUP);
    private final Bootstrap client = new Bootstrap().group(GROUP);

    Pair() {
      type.configure(server, client);
    }

    @Override
    public ServerBootstrap newServerInstance() {
      return new StreamServerBootstrap(type, config(), server);
    }

    @Override
    public Bootstrap newClientInstance() {
      return newStreamBootstrap();
    }

    StreamBootstrap newStreamBootstrap() {
      return new StreamBootstrap(type, config(), client);
    }
  }
}
