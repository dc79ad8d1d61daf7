package io.kcp4j.internal.buffer;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.kcp4j.KcpCounters;
import io.kcp4j.internal.arq.KcpContext;
import io.kcp4j.internal.buffer.Chunk.DatagramRun;
import io.kcp4j.internal.memory.MemoryBudget;
import io.kcp4j.internal.wire.DatagramOutput;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.UnpooledByteBufAllocator;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** {@link DatagramRun} alone: which datagrams reach the output as one run. */
class DatagramRunTest implements DatagramOutput {

  private final KcpContext context =
      new KcpContext(
          new UnpooledByteBufAllocator(true, true), MemoryBudget.unlimited(), new KcpCounters());
  private final Chunk chunk = Chunk.allocate(context, 10_000);
  private final Chunk other = Chunk.allocate(context, 10_000);
  private final DatagramRun run = new DatagramRun();

  /** Index, bytes and bytes of a datagram of each run. */
  private final List<List<Integer>> sent = new ArrayList<>();

  private final List<ByteBuf> sentFrom = new ArrayList<>();

  @AfterEach
  void release() {
    chunk.memory().release();
    other.memory().release();
  }

  @Override
  public ByteBuf begin(int maxBytes) {
    throw new AssertionError("a copy");
  }

  @Override
  public void end() {}

  @Override
  public void send(ByteBuf data, int index, int bytes, int datagramBytes) {
    sentFrom.add(data);
    sent.add(List.of(index, bytes, datagramBytes));
  }

  private void add(Chunk from, int at, int bytes, int bytesEach) {
    run.add(from, at, bytes, bytesEach, this);
  }

  @Test
  void contiguousDatagramsOfOneSizeAreOneRun() {
    add(chunk, 100, 2_000, 1_000);
    add(chunk, 2_100, 1_000, 1_000);
    assertEquals(List.of(), sent);
    run.send(this);
    assertEquals(List.of(List.of(100, 3_000, 1_000)), sent);
    run.send(this);
    assertEquals(1, sent.size(), "it is sent once");
  }

  @Test
  void shorterDatagramEndsTheRun() {
    add(chunk, 0, 1_000, 1_000);
    add(chunk, 1_000, 999, 999);
    assertEquals(List.of(List.of(0, 1_999, 1_000)), sent);
    add(chunk, 1_999, 999, 999);
    run.send(this);
    assertEquals(List.of(0, 1_999, 1_000), sent.get(0));
    assertEquals(List.of(1_999, 999, 999), sent.get(1));
  }

  @Test
  void severalShorterDatagramsAndLargerOnesBeginAnotherRun() {
    add(chunk, 0, 1_000, 1_000);
    add(chunk, 1_000, 1_000, 500);
    assertEquals(List.of(List.of(0, 1_000, 1_000)), sent);
    add(chunk, 2_000, 501, 501);
    assertEquals(List.of(1_000, 1_000, 500), sent.get(1));
    run.send(this);
    assertEquals(List.of(2_000, 501, 501), sent.get(2));
  }

  @Test
  void gapOrAnotherChunkBeginsAnotherRun() {
    add(chunk, 0, 1_000, 1_000);
    add(chunk, 1_001, 1_000, 1_000);
    add(other, 2_001, 1_000, 1_000);
    run.send(this);
    assertEquals(
        List.of(
            List.of(0, 1_000, 1_000), List.of(1_001, 1_000, 1_000), List.of(2_001, 1_000, 1_000)),
        sent);
    assertEquals(List.of(chunk.memory(), chunk.memory(), other.memory()), sentFrom);
  }

  @Test
  void sizeOfThePacketsHasTheOverheadOfEachDatagram() {
    assertEquals(0, run.packetBytes(40));
    add(chunk, 0, 3_000, 1_000);
    assertEquals(3_000 + 3 * 40, run.packetBytes(40));
    run.send(this);
    assertEquals(0, run.packetBytes(40));
  }

  @Test
  void discardedRunDoesNotLeave() {
    add(chunk, 0, 1_000, 1_000);
    run.discard();
    assertEquals(0, run.packetBytes(40));
    add(chunk, 1_000, 1_000, 1_000);
    run.send(this);
    assertEquals(List.of(List.of(1_000, 1_000, 1_000)), sent);
  }
}
