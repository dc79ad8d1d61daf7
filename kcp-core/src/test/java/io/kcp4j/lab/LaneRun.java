package io.kcp4j.lab;

import io.kcp4j.Delivery;
import io.kcp4j.KcpConfig;
import io.kcp4j.fec.FecConfig;
import io.kcp4j.lanes.LaneConfig;
import io.kcp4j.lanes.LaneKind;
import io.kcp4j.lanes.LanesConfig;
import io.kcp4j.sim.VirtualTime;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.util.SplittableRandom;

/**
 * Game traffic one way on the lanes of one session, a lane for each entity, or on one stream; and
 * beside it, if wanted, bulk data on a lane of its own that always has some waiting. Measures how
 * long messages take from their tick to the reader.
 */
final class LaneRun {

  /** A message is late that takes longer. */
  static final int LATE_US = 20_000;

  /** What a message on a stream needs to tell its entity and its length, in bytes. */
  private static final int STREAM_HEADER_BYTES = 4;

  private static final int BULK_LANE = 1_000;
  private static final int BULK_MESSAGE_BYTES = 16 * 1024;
  private static final int BULK_WAITING_BYTES = 256 * 1024;
  private static final int BULK_CHECK_US = 5_000;
  private static final long US_PER_S = 1_000_000;
  private static final long LINGER_US = 20 * US_PER_S;

  private final Settings settings;
  private final VirtualTime time = new VirtualTime();
  private final LabHost client;
  private final LabHost server;
  private final LabLink up;
  private final LabLink down;
  private final long fromUs = US_PER_S;
  private final long endUs;
  private final Latencies latencies = new Latencies();
  private final ByteBuf stream = Unpooled.buffer();
  private final int[] nextTick;
  private LabSession session;
  private long ticks;
  private long received;
  private long late;
  private long measured;
  private long bulkBytes;

  /**
   * What to run.
   *
   * @param lane how messages are sent; null for one stream
   * @param hasBulk whether bulk data is sent, too
   */
  record Settings(
      Traffic traffic,
      LaneConfig lane,
      boolean hasBulk,
      KcpConfig config,
      FecConfig fec,
      LinkSettings link,
      int seconds,
      long seed) {

    private boolean hasLanes() {
      return lane != null;
    }
  }

  /**
   * What was measured.
   *
   * @param lateShare of the messages
   * @param bytes UDP payload from the sender to the receiver
   * @param bulkBytesPerSecond payload
   */
  record Result(
      Latencies latencies,
      double lateShare,
      long messages,
      long bytes,
      long datagrams,
      long retransmitted,
      double bulkBytesPerSecond) {

    @Override
    public String toString() {
      return "%,d messages, %.3f %% late, p50 %.1f ms, p99 %.1f ms, %,d bytes in %,d datagrams, %,d retransmissions, bulk %.3f MB/s"
          .formatted(
              messages,
              100 * lateShare,
              latencies.quantileUs(0.5) / 1e3,
              latencies.quantileUs(0.99) / 1e3,
              bytes,
              datagrams,
              retransmitted,
              bulkBytesPerSecond / 1e6);
    }
  }

  private LaneRun(Settings settings) {
    this.settings = settings;
    endUs = settings.seconds * US_PER_S;
    nextTick = new int[settings.traffic.messages()];
    SplittableRandom random = new SplittableRandom(settings.seed);
    KcpConfig config =
        settings.hasLanes()
            ? settings.config.toBuilder().delivery(Delivery.LANES).build()
            : settings.config;
    LanesConfig.Builder lanes = LanesConfig.builder();
    if (settings.hasLanes()) {
      lanes.defaultLane(settings.lane).lane(BULK_LANE, settings.lane.withPriority(7));
    }
    client = new LabHost(time, random.split(), config, settings.fec, lanes.build());
    server = new LabHost(time, random.split(), config, settings.fec, lanes.build());
    up = new LabLink(time, random.split(), settings.link, server::received);
    down = new LabLink(time, random.split(), settings.link, client::received);
    client.connect(up);
    server.connect(down);
    server.listen(conv -> new Receiver());
  }

  static Result run(Settings settings) {
    return new LaneRun(settings).run();
  }

  private Result run() {
    session = client.open(1, new Sender());
    time.at(0, this::tick);
    if (settings.hasBulk) {
      time.at(0, this::fill);
    }
    time.runUntil(endUs);
    long bytes = up.bytes();
    long datagrams = up.datagrams();
    long bulk = bulkBytes;
    time.runUntil(endUs + LINGER_US);
    long expected = ticks * settings.traffic.messages();
    if (received != expected) {
      throw new AssertionError("received " + received + " of " + expected + " messages");
    }
    Result result =
        new Result(
            latencies,
            (double) late / measured,
            measured,
            bytes,
            datagrams,
            up.monitor().retransmissions(),
            bulk * (double) US_PER_S / endUs);
    client.close();
    server.close();
    return result;
  }

  // Sending

  private void tick() {
    int bytes = settings.traffic.messageBytes();
    for (int entity = 0; entity < settings.traffic.messages(); entity++) {
      ByteBuf message = Unpooled.buffer(STREAM_HEADER_BYTES + bytes);
      if (!settings.hasLanes()) {
        message.writeShort(bytes).writeShort(entity);
      }
      int start = message.writerIndex();
      message.writeInt((int) ticks);
      while (message.writerIndex() - start < bytes) {
        message.writeByte(entity + message.writerIndex() - start);
      }
      if (settings.hasLanes()) {
        session.writeToLane(entity, message);
      } else if (!session.write(message)) {
        throw new AssertionError("no room to write");
      }
    }
    session.flush();
    ticks++;
    if (settings.traffic.tickAtUs(ticks) < endUs) {
      time.at(settings.traffic.tickAtUs(ticks), this::tick);
    }
  }

  /** Keeps bulk data waiting. */
  private void fill() {
    while (session.queuedOnLane(BULK_LANE) < BULK_WAITING_BYTES) {
      session.writeToLane(BULK_LANE, Unpooled.buffer().writeZero(BULK_MESSAGE_BYTES));
    }
    session.flush();
    if (time.nowUs() < endUs) {
      time.after(BULK_CHECK_US, this::fill);
    }
  }

  private static final class Sender implements LabUser {
    @Override
    public void received(LabSession session, ByteBuf data) {
      throw new AssertionError("received something where nothing is sent");
    }
  }

  // Receiving

  private final class Receiver implements LabUser {

    @Override
    public void received(LabSession session, ByteBuf data) {
      stream.writeBytes(data);
      int bytes = settings.traffic.messageBytes();
      while (stream.readableBytes() >= STREAM_HEADER_BYTES + bytes) {
        stream.skipBytes(Short.BYTES);
        int entity = stream.readUnsignedShort();
        message(entity, stream.readSlice(bytes));
      }
      stream.discardSomeReadBytes();
    }

    @Override
    public void receivedOnLane(LabSession session, int lane, ByteBuf message) {
      if (lane == BULK_LANE) {
        bulkBytes += message.readableBytes();
      } else {
        message(lane, message);
      }
    }
  }

  private void message(int entity, ByteBuf message) {
    int tick = message.getInt(message.readerIndex());
    boolean isOrdered = !settings.hasLanes() || settings.lane.kind() == LaneKind.RELIABLE_ORDERED;
    if (isOrdered && tick != nextTick[entity]++) {
      throw new AssertionError("entity " + entity + ": tick " + tick + " not in order");
    }
    for (int i = Integer.BYTES; i < message.readableBytes(); i++) {
      if (message.getByte(message.readerIndex() + i) != (byte) (entity + i)) {
        throw new AssertionError("entity " + entity + ": altered");
      }
    }
    received++;
    long tickAtUs = settings.traffic.tickAtUs(tick);
    if (tickAtUs >= fromUs) {
      long latencyUs = time.nowUs() - tickAtUs;
      latencies.add(latencyUs);
      measured++;
      late += latencyUs > LATE_US ? 1 : 0;
    }
  }
}
