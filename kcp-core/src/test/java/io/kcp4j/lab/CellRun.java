package io.kcp4j.lab;

import io.kcp4j.sim.Payload;
import io.kcp4j.sim.VirtualTime;
import io.netty.buffer.ByteBuf;
import java.util.SplittableRandom;

/** Runs one {@link Cell}: two machines, the path between them, and their users. */
final class CellRun {

  private static final int MESSAGES_CONV = 1;

  private static final int BULK_CONV = 2;

  private static final long US_PER_S = 1_000_000;

  /** How long after the end every message must have arrived. */
  private static final long MAX_DRAIN_US = 60 * US_PER_S;

  /** Then the last retransmissions have arrived, and count as duplicates. */
  private static final long LINGER_US = US_PER_S;

  private final Cell cell;
  private final VirtualTime time = new VirtualTime();
  private final SplittableRandom random;
  private final LabPeer client;
  private final LabPeer server;
  private final LabLink up;
  private final LabLink down;
  private final long fromUs;
  private final long endUs;
  private final Payload bulkPayload;
  private final BulkReceiver bulkReceiver;
  private final MessageMeter meter;
  private final TickSender sender;

  private CellRun(Cell cell) {
    this.cell = cell;
    fromUs = cell.fromSeconds() * US_PER_S;
    endUs = cell.seconds() * US_PER_S;
    random = new SplittableRandom(cell.seed());
    client = cell.variant().client().create(time, random.split());
    server = cell.variant().server().create(time, random.split());
    up = new LabLink(time, random.split(), cell.link(), server::received);
    down = new LabLink(time, random.split(), cell.link(), client::received);
    client.connect(up);
    server.connect(down);
    bulkPayload = new Payload(random.split());
    bulkReceiver = new BulkReceiver(bulkPayload);
    Payload messages = new Payload(random.split());
    meter = new MessageMeter(time, cell.traffic(), messages, fromUs);
    LabUser replies = cell.workload().isEchoed ? meter : CellRun::failOnReply;
    sender = new TickSender(time, cell.traffic(), messages, replies, endUs);
    server.listen(this::serverUser);
    if (cell.workload().hasTicks) {
      sender.start(client.open(MESSAGES_CONV, sender));
    }
    if (cell.workload().hasBulk) {
      startBulk();
    }
  }

  /** Runs a cell. */
  static CellResult run(Cell cell) {
    return new CellRun(cell).run();
  }

  private LabUser serverUser(int conv) {
    if (conv == BULK_CONV) {
      return bulkReceiver;
    }
    return cell.workload().isEchoed ? new EchoServer(cell.traffic().messageBytes()) : meter;
  }

  private void startBulk() {
    BulkSender bulkSender = new BulkSender(bulkPayload);
    LabSession session = client.open(BULK_CONV, bulkSender);
    time.at(0, () -> bulkSender.progressed(session));
  }

  private static void failOnReply(LabSession session, ByteBuf data) {
    throw new AssertionError("received a reply where there is none");
  }

  private CellResult run() {
    time.runUntil(fromUs - 1);
    CellResult.Direction upBefore = CellResult.Direction.of(up, server);
    CellResult.Direction downBefore = CellResult.Direction.of(down, client);
    long bulkBytes = bulkReceiver.bytes();
    time.runUntil(endUs);
    double bulkMbps = (bulkReceiver.bytes() - bulkBytes) * (double) Byte.SIZE / (endUs - fromUs);
    if (cell.workload().hasTicks) {
      drain();
    }
    client.close();
    server.close();
    return new CellResult(
        cell,
        meter.latencies(),
        bulkMbps,
        CellResult.Direction.of(up, server).since(upBefore),
        CellResult.Direction.of(down, client).since(downBefore));
  }

  private void drain() {
    while (meter.messages() < sender.messages()) {
      if (time.nowUs() > endUs + MAX_DRAIN_US || !time.step()) {
        throw new AssertionError(
            "received " + meter.messages() + " of " + sender.messages() + " messages: " + cell);
      }
    }
    time.runUntil(time.nowUs() + LINGER_US);
  }
}
