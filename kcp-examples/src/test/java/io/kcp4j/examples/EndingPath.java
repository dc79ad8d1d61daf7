package io.kcp4j.examples;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.List;

/** The network between the processes of an {@link EndingPair}. */
interface EndingPath extends AutoCloseable {

  int DELAY_US = 20_000;
  int RTT_MS = 40;

  /** The words before the command of a server, or of a client. */
  default List<String> prefix(boolean isClient) {
    return List.of();
  }

  default InetAddress serverHost() {
    return InetAddress.getLoopbackAddress();
  }

  /** Where a client reaches the server. */
  InetSocketAddress reach(InetSocketAddress server);

  @Override
  void close();

  /** Loopback, on which ICMP passes. */
  static EndingPath direct() {
    return new EndingPath() {
      @Override
      public InetSocketAddress reach(InetSocketAddress server) {
        return server;
      }

      @Override
      public void close() {}
    };
  }

  /** Loopback with delay and loss each way. */
  static EndingPath relayed(double loss, int seed) {
    var conditions = new LossyRelay.Conditions(DELAY_US, 0, loss, 0, 0, seed);
    return new EndingPath() {

      private LossyRelay relay;

      @Override
      public InetSocketAddress reach(InetSocketAddress server) {
        try {
          relay = new LossyRelay(server, conditions);
        } catch (IOException e) {
          throw new UncheckedIOException(e);
        }
        return relay.address();
      }

      @Override
      public void close() {
        try {
          if (relay != null) {
            relay.close();
          }
        } catch (IOException e) {
          throw new UncheckedIOException(e);
        }
      }
    };
  }

  /** The link of {@code src/bench/endings}. */
  static EndingPath link() {
    return new EndingPath() {

      @Override
      public List<String> prefix(boolean isClient) {
        return List.of(System.getenv(isClient ? "LINK_CLIENT" : "LINK_SERVER").split(" ", -1));
      }

      @Override
      public InetAddress serverHost() {
        try {
          return InetAddress.getByName(System.getenv("LINK_SERVER_ADDRESS"));
        } catch (IOException e) {
          throw new UncheckedIOException(e);
        }
      }

      @Override
      public InetSocketAddress reach(InetSocketAddress server) {
        return server;
      }

      @Override
      public void close() {}
    };
  }
}
