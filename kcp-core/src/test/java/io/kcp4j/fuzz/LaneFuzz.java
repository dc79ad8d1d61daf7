package io.kcp4j.fuzz;

import io.kcp4j.Delivery;
import io.kcp4j.KcpConfig;
import io.kcp4j.KcpCounters;
import io.kcp4j.internal.arq.Kcp;
import io.kcp4j.internal.arq.KcpContext;
import io.kcp4j.internal.lanes.Lane;
import io.kcp4j.internal.lanes.Lanes;
import io.kcp4j.internal.lanes.OutboundMessage;
import io.kcp4j.internal.memory.MemoryBudget;
import io.kcp4j.internal.wire.DatagramOutput;
import io.kcp4j.internal.wire.Segment;
import io.kcp4j.internal.wire.Time;
import io.kcp4j.lanes.LaneConfig;
import io.kcp4j.lanes.LaneKind;
import io.kcp4j.lanes.LanesConfig;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.buffer.UnpooledByteBufAllocator;
import java.util.ArrayList;
import java.util.List;

/**
 * Lanes of two sessions on a path whose datagrams arrive in any order, several times or not at all,
 * or one side that receives arbitrary frames. What was sent arrives once, unaltered and in the
 * order of its lane; memory stays within the budget; and nothing is held in the end.
 */
public final class LaneFuzz {

  private static final int CONV = 7;

  /** Unreliable and sequenced messages with numbers of 16 bits, and of 32: protocol.md 13.2. */
  private static final int[] ITEM_TYPES = {16, 17, 19, 20};

  /** The lane and a number of 32 bits, which precede the payload in the value of an item. */
  private static final int ITEM_HEADER_BYTES = 6;

  private static final int LANES = 8;
  private static final int BUDGET = 8 * 1024;

  /** Buffers are counted with what stands beside them, and one grows ahead of its content. */
  private static final int MAX_HELD_BYTES = 3 * BUDGET + 64 * 1024;

  private static final LanesConfig LANES_CONFIG =
      LanesConfig.builder().maxLanes(LANES).budgetBytes(BUDGET).unreliableQueue(3).build();
  private static final UnpooledByteBufAllocator ALLOCATOR =
      new UnpooledByteBufAllocator(false, true);
  private static final KcpConfig CONFIG =
      KcpConfig.builder()
          .delivery(Delivery.LANES)
          .mtuBytes(150)
          .sendWindow(64)
          .receiveWindow(64)
          .userTimeoutMs(0)
          .build();

  private final FuzzInput input;
  private final Side client = new Side(true);
  private final Side server = new Side(false);
  private long nowUs = 1_000_000;

  /** Whether the server receives arbitrary frames, and the client nothing. */
  private final boolean isForged;

  /** The next sequence number of what is forged. */
  private int sn;

  private LaneFuzz(byte[] bytes) {
    input = new FuzzInput(bytes);
    isForged = input.oneIn(2);
    client.peer = server;
    server.peer = client;
    client.lanes.open(LANES, BUDGET);
    server.lanes.open(LANES, BUDGET);
  }

  /** One pair. */
  public static void fuzzerTestOneInput(byte[] bytes) {
    LaneFuzz fuzz = new LaneFuzz(bytes);
    while (!fuzz.input.isAtEnd()) {
      if (fuzz.isForged) {
        fuzz.forge();
      } else {
        fuzz.step();
      }
    }
    if (!fuzz.isForged) {
      fuzz.finish();
    }
    fuzz.client.close();
    fuzz.server.close();
    long leaked = ALLOCATOR.metric().usedHeapMemory() + ALLOCATOR.metric().usedDirectMemory();
    Check.that(leaked == 0, "leaks");
  }

  // Two sides that keep the rules

  private void step() {
    int op = input.unsignedByte();
    Side side = (op & 128) == 0 ? client : server;
    switch (op & 15) {
      case 0, 1, 2, 3 -> side.send(op >> 4 & 7, input.unsignedByte(), input.unsignedByte());
      case 4, 5, 6, 7 -> side.deliver(input.unsignedByte());
      case 8 -> side.lose(input.unsignedByte());
      case 9 -> side.read(input.unsignedByte());
      case 10 -> side.end(op >> 4 & 7);
      case 11 -> side.abort(op >> 4 & 7);
      case 12 -> side.discard(op >> 4 & 7);
      default -> sleep(input.unsignedByte());
    }
  }

  private void sleep(int ms) {
    nowUs += 1_000L * ms;
    client.flushIfDue();
    server.flushIfDue();
  }

  private void finish() {
    client.read(255);
    server.read(255);
    for (int i = 0; i < 2_000 && !(client.isDone() && server.isDone()); i++) {
      client.deliverAll();
      server.deliverAll();
      client.read(255);
      server.read(255);
      sleep(20);
    }
    Check.that(client.isDone() && server.isDone(), "stuck");
    client.checkReceived();
    server.checkReceived();
  }

  // Arbitrary frames

  private void forge() {
    int op = input.unsignedByte();
    switch (op & 7) {
      case 0 -> server.read(op >> 3);
      case 1 -> server.discard(op >> 3 & 7);
      case 2 -> server.send(op >> 3 & 7, input.unsignedByte(), input.unsignedByte());
      case 3 -> server.end(op >> 3 & 7);
      case 4 -> server.abort(op >> 3 & 7);
      case 5 -> forgeItem(op >> 3);
      default -> forgeSegment(op >> 3);
    }
    Check.that(server.budget.usedBytes() <= MAX_HELD_BYTES, "beyond its memory");
    Check.that(server.kcp.failure() == null, "failed");
  }

  private void forgeSegment(int frames) {
    ByteBuf payload = Unpooled.buffer(1_400);
    for (int i = frames & 3; i >= 0; i--) {
      forgeFrame(payload);
    }
    ByteBuf datagram = Unpooled.buffer(1_500);
    int distance = (frames & 4) == 0 ? 0 : input.below(4);
    int bytes = payload.readableBytes();
    Segment.write(datagram, CONV, Segment.PUSH, 0, 64, 0, sn + distance, 0, bytes);
    sn += distance == 0 ? 1 : 0;
    server.kcp.input(datagram.writeBytes(payload), nowUs);
    server.kcp.afterInput(nowUs, server);
  }

  private void forgeFrame(ByteBuf out) {
    int kind = input.unsignedByte();
    if (kind >= 240) {
      out.writeBytes(input.take(input.below(12)));
      return;
    }
    int type = kind & 7;
    int flags = type == 1 || type == 2 ? kind & 0x78 : 0;
    out.writeByte(type | flags).writeByte(input.below(LANES + 1));
    switch (type) {
      case 1, 2 -> forgeMessage(out, flags);
      case 3, 6, 7 -> out.writeIntLE(input.signedByte());
      case 4 -> out.writeIntLE(input.signedByte()).writeByte(input.below(100));
      default -> {}
    }
  }

  private void forgeMessage(ByteBuf out, int flags) {
    if ((flags & 0x20) != 0) {
      out.writeIntLE(input.signedByte());
    } else if ((flags & 0x08) != 0) {
      out.writeByte(input.signedByte());
    } else {
      out.writeShortLE(input.signedByte());
    }
    int length = input.below(100);
    if ((flags & 0x10) != 0) {
      out.writeByte(0x80 | input.below(100)).writeByte(input.below(8)); // The size of all of it.
      out.writeByte(input.below(100));
    }
    if ((flags & 0x40) != 0) {
      out.writeByte(length);
    }
    out.writeZero(length);
  }

  private void forgeItem(int kind) {
    byte[] value = input.take(ITEM_HEADER_BYTES + input.below(50));
    if (value.length >= ITEM_HEADER_BYTES) {
      value[1] = 0;
      int type = ITEM_TYPES[kind & 3];
      server.lanes.receiveUnreliable(type, Unpooled.wrappedBuffer(value), 0, value.length);
    }
  }

  /** One side, and the datagrams that it has sent. */
  private final class Side implements DatagramOutput {

    private final MemoryBudget budget = MemoryBudget.unlimited();
    private final Kcp kcp;
    private final Lanes lanes;
    private final List<ByteBuf> sent = new ArrayList<>();

    /** The numbers of the messages of each lane, as they were sent and as they were received. */
    private final List<List<Integer>> sentNumbers = new ArrayList<>();

    private final List<List<Integer>> receivedNumbers = new ArrayList<>();

    /** The lanes of which messages may have been dropped. */
    private final boolean[] isCut = new boolean[LANES];

    private Side peer;
    private ByteBuf datagram;
    private int messages;

    Side(boolean isClient) {
      KcpContext context = new KcpContext(ALLOCATOR, budget, new KcpCounters());
      kcp = new Kcp(CONV, CONFIG, context, 0x7000_0000);
      lanes = new Lanes(kcp, LANES_CONFIG, isClient, 0);
      for (int i = 0; i < LANES; i++) {
        sentNumbers.add(new ArrayList<>());
        receivedNumbers.add(new ArrayList<>());
        LaneKind kind = i % 2 == 0 ? LaneKind.RELIABLE_ORDERED : LaneKind.RELIABLE_UNORDERED;
        lanes.lane(i).config(LaneConfig.of(kind).withPriority(i / 2));
      }
    }

    void send(int id, int sizes, int size) {
      Lane lane = lanes.lane(id);
      int bytes = Math.min(4 + size * (sizes % 4 == 0 ? 4 : 1), lane.maxMessageBytes());
      if (!lane.isOutputOpen()) {
        return;
      }
      int number = messages++;
      ByteBuf content = ALLOCATOR.heapBuffer(bytes).writeInt(number);
      while (content.writerIndex() < bytes) {
        content.writeByte(number + content.writerIndex());
      }
      sentNumbers.get(id).add(number);
      lane.send(
          new OutboundMessage(content) {
            @Override
            protected void sent() {}

            @Override
            protected void dropped(Drop reason) {
              isCut[id] = true;
            }
          });
      kcp.afterSend(nowUs, this);
    }

    void deliver(int which) {
      if (!sent.isEmpty()) {
        ByteBuf next = sent.get(which % sent.size());
        if (which < 200) { // Else it arrives again.
          sent.remove(which % sent.size());
        }
        peer.kcp.input(next, nowUs);
        peer.kcp.afterInput(nowUs, peer);
      }
    }

    void deliverAll() {
      List<ByteBuf> all = List.copyOf(sent);
      sent.clear();
      all.forEach(next -> peer.kcp.input(next, nowUs));
      peer.kcp.afterInput(nowUs, peer);
    }

    void lose(int which) {
      if (!sent.isEmpty()) {
        sent.remove(which % sent.size());
      }
    }

    /** Reads the lanes whose bits are set. */
    void read(int which) {
      while (lanes.nextNews() != null) {}
      for (int id = 0; id < LANES; id++) {
        if ((which & 1 << id) != 0) {
          read(lanes.lane(id));
        }
      }
      kcp.afterSend(nowUs, this);
    }

    private void read(Lane lane) {
      for (ByteBuf message; (message = lane.receive()) != null; message.release()) {
        Check.that(message.refCnt() == 1, "of several owners");
        if (message.readableBytes() < 4) {
          continue; // Forged.
        }
        int number = message.getInt(0);
        for (int i = 4; i < message.readableBytes() && !isForged; i++) {
          Check.that(message.getByte(i) == (byte) (number + i), "altered");
        }
        receivedNumbers.get(lane.id()).add(number);
      }
      lane.takeInputEnd();
    }

    void end(int id) {
      lanes.lane(id).shutdownOutput();
      kcp.afterSend(nowUs, this);
    }

    void abort(int id) {
      lanes.lane(id).abortOutput();
      isCut[id] = true;
      kcp.afterSend(nowUs, this);
    }

    void discard(int id) {
      lanes.lane(id).discardInput();
      peer.isCut[id] = true;
      kcp.afterSend(nowUs, this);
    }

    void flushIfDue() {
      if (kcp.nextDeadline() <= nowUs) {
        kcp.flush(nowUs, this);
        Check.that(kcp.nextDeadline() > nowUs, "due again as soon as it was flushed");
      }
    }

    boolean isDone() {
      return kcp.isDrained() && kcp.nextDeadline() == Time.NO_DEADLINE && sent.isEmpty();
    }

    void checkReceived() {
      Check.that(lanes.nextNews() == null, "news when all is read");
      Check.that(budget.usedBytes() == 0, "held when all is read");
      for (int id = 0; id < LANES; id++) {
        List<Integer> received = receivedNumbers.get(id);
        List<Integer> expected = peer.sentNumbers.get(id);
        boolean isOrdered = id % 2 == 0;
        boolean isAscending = received.stream().sorted().toList().equals(received);
        Check.that(!isOrdered || isAscending, "not in order");
        Check.that(received.stream().distinct().count() == received.size(), "received twice");
        Check.that(expected.containsAll(received), "received what was not sent");
        Check.that(peer.isCut[id] || received.containsAll(expected), "lost");
      }
    }

    void close() {
      lanes.close();
      kcp.close();
      Check.that(budget.usedBytes() == 0, "still charged when closed");
    }

    @Override
    public ByteBuf begin(int maxBytes) {
      datagram = Unpooled.buffer(maxBytes, maxBytes);
      return datagram;
    }

    @Override
    public void end() {
      sent.add(datagram);
    }
  }
}
