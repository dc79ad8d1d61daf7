package io.kcp4j.internal.wire;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.Unpooled;
import org.junit.jupiter.api.Test;

/** The layout of {@link Segment}. */
class SegmentTest {

  private static final String WIRE =
      "44332211" + "51" + "ff" + "feff" + "04030281" + "08070685" + "0c0b0a89" + "00000000";

  @Test
  void headerIsLittleEndianInTheOrderOfTheWire() {
    ByteBuf out = Unpooled.buffer();
    Segment.write(out, 0x11223344, Segment.PUSH, 255, 65534, 0x81020304, 0x85060708, 0x890a0b0c, 0);
    assertEquals(WIRE, ByteBufUtil.hexDump(out));
  }

  @Test
  void fieldsAreReadWhereTheyStand() {
    ByteBuf in = Unpooled.copiedBuffer(new byte[3], ByteBufUtil.decodeHexDump(WIRE));
    in.setIntLE(3 + 20, 0xfffffff0);
    assertEquals(0x11223344, Segment.conv(in, 3));
    assertEquals(Segment.PUSH, Segment.cmd(in, 3));
    assertEquals(255, Segment.frg(in, 3));
    assertEquals(65534, Segment.wnd(in, 3));
    assertEquals(0x81020304, Segment.ts(in, 3));
    assertEquals(0x85060708, Segment.sn(in, 3));
    assertEquals(0x890a0b0c, Segment.una(in, 3));
    assertEquals(-16, Segment.length(in, 3));
  }

  @Test
  void writingMovesTheWriterIndexPastTheHeader() {
    ByteBuf out = Unpooled.buffer().writeZero(5);
    Segment.write(out, 1, Segment.ACK, 0, 0, 2, 3, 4, 0);
    assertEquals(5 + Segment.HEADER_BYTES, out.writerIndex());
    assertEquals(1, Segment.conv(out, 5));
  }

  @Test
  void largestWindowDoesNotReachIntoItsNeighbours() {
    ByteBuf out = Unpooled.buffer();
    Segment.write(out, 0, Segment.WINS, 0, 65535, 0, 0, 0, 0);
    assertEquals("00000000" + "54" + "00" + "ffff" + "00".repeat(16), ByteBufUtil.hexDump(out));
  }

  @Test
  void fourCommandsAreKnown() {
    assertFalse(Segment.isCommand(80));
    assertTrue(Segment.isCommand(Segment.PUSH));
    assertTrue(Segment.isCommand(Segment.ACK));
    assertTrue(Segment.isCommand(Segment.WASK));
    assertTrue(Segment.isCommand(Segment.WINS));
    assertFalse(Segment.isCommand(85));
  }
}
