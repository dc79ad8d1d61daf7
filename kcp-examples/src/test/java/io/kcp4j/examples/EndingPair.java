package io.kcp4j.examples;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.util.EnumSet;
import java.util.Set;

/** A server and a client, and what {@link EndingCell}s do to them. */
final class EndingPair implements AutoCloseable {

  /** In the first session until class loading counts no longer in round-trip times. */
  private static final int FIRST_EXCHANGES = 30;

  private static final int LATER_EXCHANGES = 5;

  final EndingCarrier carrier;
  private final EndingPath path;
  private final Set<EndingSetting> settings;
  private int port;
  EndingProcess server;
  EndingProcess client;

  /** Starts both; the client does not connect yet. The settings are those of both. */
  EndingPair(EndingCarrier carrier, EndingPath path, Set<EndingSetting> settings)
      throws IOException {
    this.carrier = carrier;
    this.path = path;
    this.settings = settings;
    startServer();
    InetSocketAddress remote = path.reach(new InetSocketAddress(path.serverHost(), port));
    EnumSet<EndingSetting> clients = EnumSet.of(EndingSetting.CLIENT);
    clients.addAll(settings);
    client =
        new EndingProcess(
            path.prefix(true),
            carrier,
            remote.getAddress().getHostAddress(),
            remote.getPort(),
            clients);
  }

  boolean isTcp() {
    return carrier == EndingCarrier.TCP;
  }

  /** Starts a server, at the port of its predecessor if there was one; returns when it listens. */
  long startServer() throws IOException {
    String host = path.serverHost().getHostAddress();
    server = new EndingProcess(path.prefix(false), carrier, host, port, settings);
    EndingEvent listening =
        server.await("listening", event -> event.name().startsWith("listening"));
    port = Integer.parseInt(listening.name().split(" ", -1)[1]);
    return listening.atNs();
  }

  /** Begins a session, in which messages go in both directions. */
  void connect(int session) {
    int exchanges = session == 0 ? FIRST_EXCHANGES : LATER_EXCHANGES;
    client.run("connect");
    for (long i = 1; i <= exchanges; i++) {
      if (i > 1) {
        client.run("write " + EndingTraffic.WRITE_BYTES);
      }
      awaitReceived(server, session, i * EndingTraffic.WRITE_BYTES);
      server.run("write " + EndingTraffic.WRITE_BYTES);
      awaitReceived(client, session, i * EndingTraffic.WRITE_BYTES);
    }
  }

  /** Has a side write without end, and returns the event when the other one reads it. */
  EndingEvent startFlow(EndingProcess from, EndingProcess to) {
    EndingEvent started = from.run("flow");
    return awaitReceived(to, 0, started.written() + 10L * EndingTraffic.WRITE_BYTES);
  }

  static EndingEvent awaitReceived(EndingProcess at, int session, long bytes) {
    return at.await(bytes + " bytes", event -> event.isOf(session) && event.received() >= bytes);
  }

  @Override
  public void close() {
    server.close();
    if (client != null) {
      client.close();
    }
    path.close();
  }
}
