package io.kcp4j.internal.lanes;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kcp4j.CongestionControl;
import io.kcp4j.Delivery;
import io.kcp4j.KcpConfig;
import io.kcp4j.KcpCounters;
import io.kcp4j.KcpMode;
import io.kcp4j.internal.arq.Kcp;
import io.kcp4j.internal.arq.KcpContext;
import io.kcp4j.internal.memory.MemoryBudget;
import io.kcp4j.internal.wire.DatagramOutput;
import io.kcp4j.lanes.LaneConfig;
import io.kcp4j.lanes.LaneKind;
import io.kcp4j.lanes.LanesConfig;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.buffer.UnpooledByteBufAllocator;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Predicate;

/**
 * Two sessions with lanes in virtual time, on a path of 10 ms each way. The test decides which
 * datagrams are lost. Unreliable messages need the session's extension and are not sent.
 */
final class LanePair {

  static final int DELAY_US = 10_000;

  final Side client;
  final Side server;
  long nowUs;

  private final List<Datagram> path = new ArrayList<>();

  private record Datagram(Side to, ByteBuf bytes, long atUs) {}

  LanePair() {
    this(LanesConfig.DEFAULT, LanesConfig.DEFAULT);
  }

  LanePair(LanesConfig client, LanesConfig server) {
    this(client, server, null);
  }

  /** With a context of the test's own on the server's side. */
  LanePair(LanesConfig client, LanesConfig server, KcpContext context) {
    this.client = new Side(client, null, true);
    this.server = new Side(server, context, false);
    this.client.peer = this.server;
    this.server.peer = this.client;
  }

  static KcpConfig.Builder config() {
    return KcpConfig.builder()
        .delivery(Delivery.LANES)
        .mode(KcpMode.FAST3)
        .congestionControl(CongestionControl.NONE)
        .sendWindow(1024)
        .receiveWindow(1024);
  }

  /** A pair in which each side knows the limits of the other. */
  static LanePair open() {
    return new LanePair().opened();
  }

  LanePair opened() {
    client.open();
    server.open();
    return this;
  }

  /** Lets time pass; everything that is due is done. */
  LanePair run(int ms) {
    long endUs = nowUs + 1_000L * ms;
    while (true) {
      long nextUs = Math.min(client.kcp.nextDeadline(), server.kcp.nextDeadline());
      for (Datagram datagram : path) {
        nextUs = Math.min(nextUs, datagram.atUs);
      }
      if (nextUs > endUs) {
        break;
      }
      nowUs = Math.max(nowUs, nextUs);
      deliver();
      client.flushIfDue();
      server.flushIfDue();
    }
    nowUs = endUs;
    return this;
  }

  private void deliver() {
    List<Datagram> due = path.stream().filter(d -> d.atUs <= nowUs).toList();
    path.removeAll(due);
    for (Datagram datagram : due) {
      datagram.to.kcp.input(datagram.bytes, nowUs);
    }
    for (Side side : List.of(client, server)) {
      if (due.stream().anyMatch(d -> d.to == side)) {
        side.progressed();
        side.kcp.afterInput(nowUs, side);
      }
    }
  }

  void assertNothingHeld() {
    for (Side side : List.of(client, server)) {
      side.lanes.close();
      side.kcp.close();
      assertEquals(0, side.budget.usedBytes(), "budget");
      long leaked =
          side.allocator.metric().usedDirectMemory() + side.allocator.metric().usedHeapMemory();
      assertEquals(0, leaked, "leaked");
    }
  }

  /** One side, which reads all lanes at once unless the test says otherwise. */
  final class Side implements DatagramOutput {

    final UnpooledByteBufAllocator allocator = new UnpooledByteBufAllocator(true, true);
    final MemoryBudget budget;
    final Kcp kcp;
    final Lanes lanes;

    /** What has been received: the lane, and a message or an end. */
    final List<String> received = new ArrayList<>();

    /** The sizes of what has been received. */
    final List<Integer> sizes = new ArrayList<>();

    /** When it was. */
    final List<Long> receivedAtUs = new ArrayList<>();

    /** What has become of the messages that were sent. */
    final List<String> fates = new ArrayList<>();

    /** Which lanes are read. */
    Predicate<Lane> isRead = lane -> true;

    /** Which datagrams are lost, of those that it sends; counts from 0. */
    Predicate<Integer> isLost = n -> false;

    int datagrams;
    long bytes;

    private Side peer;
    private ByteBuf current;

    Side(LanesConfig lanesConfig, KcpContext contextOrNull, boolean isClient) {
      KcpContext context =
          contextOrNull != null
              ? contextOrNull
              : new KcpContext(allocator, MemoryBudget.unlimited(), new KcpCounters());
      budget = context.budget();
      kcp = new Kcp(7, config().build(), context, 1000);
      lanes = new Lanes(kcp, lanesConfig, isClient, 0);
    }

    private void open() {
      lanes.open(peer.lanes.config().maxLanes(), peer.lanes.config().budgetBytes());
      kcp.afterSend(nowUs, this);
    }

    Lane lane(int id, LaneKind kind) {
      Lane lane = lanes.lane(id);
      lane.config(LaneConfig.of(kind));
      return lane;
    }

    /** Queues texts on a lane and flushes. */
    Side send(int lane, String... texts) {
      for (String text : texts) {
        queue(lanes.lane(lane), Unpooled.copiedBuffer(text, StandardCharsets.US_ASCII), text);
      }
      return flush();
    }

    /** Queues a message of so many bytes on a lane and flushes. */
    Side send(int lane, int bytes) {
      queue(lanes.lane(lane), pattern(bytes), lane + ":" + bytes);
      return flush();
    }

    /** Queues a message of so many bytes on a lane, which the test may spoil. */
    ByteBuf queue(int lane, int bytes) {
      ByteBuf content = pattern(bytes);
      queue(lanes.lane(lane), content, lane + ":" + bytes);
      return content;
    }

    void queue(Lane lane, ByteBuf content, String name) {
      lane.send(
          new OutboundMessage(content) {
            @Override
            protected void sent() {
              assertEquals(0, content().refCnt());
              fates.add(name + " sent");
            }

            @Override
            protected void dropped(Drop reason) {
              assertEquals(0, content().refCnt());
              fates.add(name + " " + reason);
            }
          });
    }

    Side flush() {
      kcp.afterSend(nowUs, this);
      return this;
    }

    private void flushIfDue() {
      if (kcp.nextDeadline() <= nowUs) {
        kcp.flush(nowUs, this);
        assertTrue(kcp.nextDeadline() > nowUs, "the deadline stays");
      }
    }

    /** Reads the lanes that are to be read. */
    void progressed() {
      List<Lane> unread = new ArrayList<>();
      for (Lane lane; (lane = lanes.nextNews()) != null; ) {
        if (isRead.test(lane)) {
          read(lane);
        } else {
          unread.add(lane);
        }
      }
      unread.forEach(lanes::news);
    }

    void read(Lane lane) {
      for (ByteBuf message; (message = lane.receive()) != null; message.release()) {
        int bytes = message.readableBytes();
        boolean isText = bytes < 100;
        assertTrue(isText || message.equals(pattern(bytes)), "altered");
        String text = isText ? message.toString(StandardCharsets.US_ASCII) : bytes + " bytes";
        received(lane, text, bytes);
      }
      if (lane.takeInputEnd()) {
        received(lane, "end", 0);
      }
    }

    private void received(Lane lane, String text, int bytes) {
      received.add(lane.id() + ":" + text);
      sizes.add(bytes);
      receivedAtUs.add(nowUs);
    }

    /** Reads the lanes again that were not read, and flushes. */
    void resumeReading() {
      isRead = lane -> true;
      progressed();
      flush();
    }

    @Override
    public ByteBuf begin(int maxBytes) {
      current = Unpooled.buffer(maxBytes, maxBytes);
      return current;
    }

    @Override
    public void end() {
      bytes += current.readableBytes();
      if (!isLost.test(datagrams++)) {
        path.add(new Datagram(peer, current, nowUs + DELAY_US));
      }
    }
  }

  /** Bytes that depend on their position. */
  static ByteBuf pattern(int bytes) {
    ByteBuf buffer = Unpooled.buffer(Math.max(bytes, 1));
    for (int i = 0; i < bytes; i++) {
      buffer.writeByte(i * 31 + (i >> 8));
    }
    return buffer;
  }
}
