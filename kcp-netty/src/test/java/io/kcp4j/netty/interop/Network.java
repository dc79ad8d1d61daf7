package io.kcp4j.netty.interop;

import static org.junit.jupiter.api.Assertions.assertTrue;

import java.net.InetSocketAddress;

/** What lies between client and server. */
enum Network {
  CLEAN(0),
  /** A tenth of the datagrams is lost, some come twice, some late. */
  LOSSY(0.1),
  /** The same, and more than one in seven is lost. */
  LOSSIER(0.15);

  private static final double DUPLICATE = 0.03;
  private static final double REORDER = 0.05;
  private static final long SEED = 20240607;

  private final double loss;

  Network(double loss) {
    this.loss = loss;
  }

  /** What a client does with the address that the network gives it for the server. */
  interface Exchange {
    void with(InetSocketAddress address) throws Exception;
  }

  /** Runs an exchange over this network, and asserts that the network was as it says. */
  void run(InetSocketAddress server, Exchange exchange) throws Exception {
    if (this == CLEAN) {
      exchange.with(server);
      return;
    }
    InteropRelay.Faults faults = new InteropRelay.Faults(loss, DUPLICATE, REORDER);
    try (InteropRelay relay = new InteropRelay(server, faults, SEED)) {
      exchange.with(relay.address());
      assertTrue(relay.sawEveryFault(), "too little traffic for the faults");
    }
  }
}
