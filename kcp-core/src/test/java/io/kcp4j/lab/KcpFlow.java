package io.kcp4j.lab;

import io.kcp4j.sim.Payload;
import java.util.function.LongSupplier;

/** A session between two machines of its own: bulk data one way, or a game. */
final class KcpFlow implements CongestionFlow {

  private static final int CONV = 1;

  /** The sizes of full segments: 24 bytes of header, and those of UDP and IPv4. */
  private static final int MSS_BYTES = 1376;

  private static final double OVERHEAD = (1400.0 + LabLink.HEADER_BYTES) / MSS_BYTES;

  private final LabPeer client;
  private final LabPeer server;
  private final LabLink up;
  private Runnable starter;
  private LongSupplier bytes;
  private Latencies latencies = new Latencies();

  private KcpFlow(CongestionWorld world, LabSide client, LabSide server) {
    this.client = client.create(world.time(), world.random().split());
    this.server = server.create(world.time(), world.random().split());
    up = world.link(world.up(), this.server::received);
    this.client.connect(up);
    this.server.connect(world.link(world.down(), this.client::received));
  }

  /**
   * Bulk data.
   *
   * @param limitBytes how much, or MAX_VALUE
   */
  static KcpFlow bulk(CongestionWorld world, LabSide client, LabSide server, long limitBytes) {
    KcpFlow flow = new KcpFlow(world, client, server);
    Payload payload = new Payload(world.random().split());
    BulkReceiver receiver = new BulkReceiver(payload);
    flow.server.listen(conv -> receiver);
    flow.bytes = receiver::bytes;
    BulkSender sender = new BulkSender(payload, limitBytes);
    flow.starter = () -> sender.progressed(flow.client.open(CONV, sender));
    return flow;
  }

  /**
   * A game, whose messages are measured from {@code fromUs} on. Begins at time 0.
   *
   * @param endUs when it ends
   */
  static KcpFlow game(
      CongestionWorld world,
      LabSide client,
      LabSide server,
      Traffic traffic,
      long fromUs,
      long endUs) {
    KcpFlow flow = new KcpFlow(world, client, server);
    Payload payload = new Payload(world.random().split());
    MessageMeter meter = new MessageMeter(world.time(), traffic, payload, fromUs);
    flow.server.listen(conv -> new EchoServer(traffic.messageBytes()));
    flow.latencies = meter.latencies();
    flow.bytes = () -> meter.messages() * traffic.messageBytes();
    TickSender sender = new TickSender(world.time(), traffic, payload, meter, endUs);
    flow.starter = () -> sender.start(flow.client.open(CONV, sender));
    return flow;
  }

  @Override
  public void start() {
    starter.run();
  }

  @Override
  public long bytes() {
    return bytes.getAsLong();
  }

  @Override
  public double overhead() {
    return OVERHEAD;
  }

  @Override
  public CellResult.Direction direction() {
    return CellResult.Direction.of(up, server);
  }

  @Override
  public Latencies latencies() {
    return latencies;
  }

  @Override
  public void close() {
    client.close();
    server.close();
  }
}
