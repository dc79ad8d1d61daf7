package io.kcp4j.lab;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.kcp4j.internal.fec.FecPacket;
import io.kcp4j.internal.wire.Segment;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import org.junit.jupiter.api.Test;

class TransmissionMonitorTest {

  private final TransmissionMonitor monitor = new TransmissionMonitor();

  @Test
  void retransmissionOfALostSegmentIsNotSpurious() {
    push(0, 100, false);
    push(0, 140, true);
    assertCounts(1, 1, 0, 0);
  }

  @Test
  void retransmissionOfASegmentThatArrivesIsSpurious() {
    push(0, 100, true);
    push(0, 140, false);
    push(0, 180, true);
    assertCounts(1, 2, 0, 2);
  }

  @Test
  void retransmissionAfterOneThatArrivesIsSpurious() {
    push(0, 100, false);
    push(0, 140, true);
    push(0, 180, true);
    assertCounts(1, 2, 0, 1);
  }

  @Test
  void copyHasTheTimestampOfItsTransmission() {
    push(0, 100, false);
    push(0, 140, false);
    push(0, 140, true);
    push(0, 180, true);
    assertCounts(1, 2, 1, 1);
  }

  @Test
  void everySegmentOfADatagramCounts() {
    ByteBuf datagram = Unpooled.buffer();
    Segment.write(datagram, 1, Segment.ACK, 0, 100, 0, 7, 0, 0);
    writePush(datagram, 0, 100);
    writePush(datagram, 1, 100);
    monitor.sent(datagram, true);
    push(1, 140, true);
    assertCounts(2, 1, 0, 1);
  }

  @Test
  void fecDataCountsAndParityDoesNot() {
    ByteBuf packet = Unpooled.buffer().writeZero(FecPacket.DATA_HEADER_BYTES);
    writePush(packet, 0, 100);
    FecPacket.write(packet, 0, packet.writerIndex(), 0, FecPacket.DATA);
    monitor.sent(packet, false);
    ByteBuf parity = Unpooled.buffer().writeIntLE(1).writeShortLE(FecPacket.PARITY).writeZero(100);
    monitor.sent(parity, true);
    push(0, 140, true);
    assertCounts(1, 1, 0, 0);
    assertEquals(1, monitor.parity());
  }

  private void push(int sn, int ts, boolean arrives) {
    ByteBuf datagram = Unpooled.buffer();
    writePush(datagram, sn, ts);
    monitor.sent(datagram, arrives);
  }

  private static void writePush(ByteBuf datagram, int sn, int ts) {
    Segment.write(datagram, 1, Segment.PUSH, 0, 100, ts, sn, 0, 5);
    datagram.writeZero(5);
  }

  private void assertCounts(int segments, int retransmitted, int copies, int spurious) {
    assertEquals(segments, monitor.segments());
    assertEquals(retransmitted, monitor.retransmissions());
    assertEquals(copies, monitor.copies());
    assertEquals(spurious, monitor.spurious());
  }
}
