package io.kcp4j.netty.interop;

import static org.junit.jupiter.api.Assertions.assertTrue;

import java.net.InetSocketAddress;

/** What lies between client and server. */
enum Network {
  CLEAN,
  /** A tenth of the datagrams is lost, some come twice, some late. */
  LOSSY;

  private static final LossyRelay.Faults FAULTS = new LossyRelay.Faults(0.1, 0.03, 0.05);
  private static final long SEED = 20240607;

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
    try (LossyRelay relay = new LossyRelay(server, FAULTS, SEED)) {
      exchange.with(relay.address());
      assertTrue(relay.sawEveryFault(), "too little traffic for the faults");
    }
  }
}
