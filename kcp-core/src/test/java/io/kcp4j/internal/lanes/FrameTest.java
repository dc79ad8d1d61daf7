package io.kcp4j.internal.lanes;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.Unpooled;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The bytes of frames: protocol.md 15.2. */
class FrameTest {

  private final Frame reader = new Frame();

  /** What the frames of a segment say, or the last is "malformed". */
  private List<String> read(String hex) {
    return read(Unpooled.wrappedBuffer(ByteBufUtil.decodeHexDump(hex.replace(" ", ""))));
  }

  private List<String> read(ByteBuf segment) {
    List<String> found = new ArrayList<>();
    reader.reset(segment, segment.readerIndex(), segment.readableBytes());
    while (reader.next()) {
      found.add(describe());
    }
    if (reader.isMalformed()) {
      found.add("malformed");
    }
    return found;
  }

  private String describe() {
    String lane = " " + reader.lane();
    return switch (reader.type()) {
      case Frame.PREFACE -> "preface";
      case Frame.ORDERED -> "ordered" + lane + message();
      case Frame.UNORDERED -> "unordered" + lane + message();
      case Frame.CONSUMED -> "consumed" + lane + " " + reader.value();
      case Frame.FIN -> "fin" + lane + " " + reader.value() + " cut " + reader.total();
      case Frame.FIN_ACK -> "fin ack" + lane;
      case Frame.STOP -> "stop" + lane + " " + reader.value();
      default -> "unreliable fin" + lane + " " + reader.value();
    };
  }

  private String message() {
    String part = reader.isFragment() ? " from " + reader.offset() + " of " + reader.total() : "";
    return " number " + reader.number(0) + part + " " + reader.length() + " bytes";
  }

  @Test
  void vectorsOfTheProtocolPageAreRead() {
    assertEquals(List.of("preface"), read("00"));
    assertEquals(
        List.of("ordered 3 number 7 2 bytes", "unordered 300 number 1 3 bytes"),
        read("41 03 0700 02 6869  02 ac02 0100 686579"));
    assertEquals(List.of("ordered 3 number 7 2 bytes"), read("09 03 07 6869"));
    assertEquals(
        List.of("ordered 5 number 2 from 1360 of 3000 1 bytes"), read("11 05 0200 b817 d00a 61"));
    assertEquals(List.of("ordered 5 number 65538 1 bytes"), read("21 05 02000100 61"));
    assertEquals(
        List.of(
            "consumed 3 114", "fin 5 2 cut 1360", "fin ack 5", "stop 5 2", "unreliable fin 9 100"),
        read("03 03 72000000  04 05 02000000 d00a  05 05  06 05 02000000  07 09 64000000"));
  }

  @Test
  void emptySegmentHasNoFrames() {
    assertEquals(List.of(), read(""));
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "08",
        "0f",
        "0b 03",
        "80",
        "c1 03 0700 61",
        "29 05 02000100 61",
        "10 00",
        "43 03 72000000",
        "45 05",
        "41 03 0700 03 6869", // A length beyond the end.
        "01 80808080 0000", // A number of five bytes.
        "11 05 0200 b817 b817 61", // An offset at the end.
        "11 05 0200 b817 d00a", // An empty fragment.
        "11 05 0200 01 00 61", // A fragment that is the whole message.
      })
  void malformedSegmentsAreRefused(String hex) {
    List<String> found = read(hex);
    assertEquals("malformed", found.get(found.size() - 1), found.toString());
  }

  @Test
  void segmentCutAtEveryByteIsMalformedOrHasTheFramesBefore() {
    String hex =
        "41030700026869"
            + "42ac02010003686579"
            + "030372000000"
            + "04050200000000"
            + "0505"
            + "060502000000"
            + "070964000000";
    ByteBuf whole = Unpooled.wrappedBuffer(ByteBufUtil.decodeHexDump(hex));
    List<String> all = read(whole);
    assertEquals(7, all.size());
    for (int bytes = 0; bytes < whole.readableBytes(); bytes++) {
      List<String> found = read(whole.slice(0, bytes));
      int frames = found.contains("malformed") ? found.size() - 1 : found.size();
      assertEquals(all.subList(0, frames), found.subList(0, frames));
    }
  }

  @ParameterizedTest
  @ValueSource(ints = {0, 40_000, 65_530, Integer.MAX_VALUE - 3, -3})
  void numbersAreResolvedAgainstTheBase(int base) {
    for (int distance : new int[] {0, 1, 127, -1, -128}) {
      assertNumber(base, base + distance, Byte.BYTES, Frame.HAS_BYTE_NUMBER);
    }
    for (int distance : new int[] {0, 1, 32_767, -1, -32_768}) {
      assertNumber(base, base + distance, Short.BYTES, 0);
    }
    for (int distance : new int[] {0, 1, Integer.MAX_VALUE, -1, Integer.MIN_VALUE}) {
      assertNumber(base, base + distance, Integer.BYTES, Frame.HAS_LONG_NUMBER);
    }
  }

  private void assertNumber(int base, int number, int numberBytes, int flag) {
    ByteBuf segment = Unpooled.buffer().writeByte(Frame.ORDERED | flag).writeByte(1);
    segment.writeIntLE(number);
    reader.reset(segment, 0, 2 + numberBytes);
    assertTrue(reader.next());
    assertEquals(number, reader.number(base));
  }

  @Test
  void variableLengthIntegersHaveSevenBitsInAByte() {
    for (int value : new int[] {0, 127, 128, 16_383, 16_384, 2_097_151, 2_097_152}) {
      ByteBuffer out = ByteBuffer.allocate(4);
      Frame.putVarInt(out, value);
      assertEquals(Frame.varIntBytes(value), out.position(), "bytes of " + value);
    }
    assertEquals(4, Frame.varIntBytes((1 << 28) - 1));
    ByteBuffer out = ByteBuffer.allocate(4);
    Frame.putVarInt(out, 300);
    assertEquals("ac02", ByteBufUtil.hexDump(out.array(), 0, 2));
  }

  private static final class QueuedMessage extends OutboundMessage {
    QueuedMessage(ByteBuf content) {
      super(content);
      queued();
    }

    @Override
    protected void sent() {}

    @Override
    protected void dropped(Drop reason) {}
  }

  @Test
  void bytesOfZeroAreOneFrameOfPadding() {
    assertEquals(
        List.of("ordered 3 number 7 2 bytes", "preface"), read("41 03 0700 02 6869 000000"));
    assertEquals(List.of("fin ack 5"), read("000000 05 05"));
  }

  /** Writes the beginning of a message on lane 1, on which nothing else is outstanding. */
  private static int write(FrameWriter writer, int number, int bytes) {
    writer.message(Frame.ORDERED, 1, number, bytes, new QueuedMessage(LanePair.pattern(bytes)));
    return writer.write(0);
  }

  @Test
  void restOfSegmentIsPaddedIfOnlyFragmentCouldFollow() {
    ByteBuffer out = ByteBuffer.allocate(1_000);
    FrameWriter writer = new FrameWriter();
    writer.begin(out, 1_000);
    assertEquals(930, write(writer, 0, 930));
    int bytes = out.position();
    assertEquals(FrameWriter.NO_ROOM, write(writer, 1, 500));
    assertEquals(bytes, out.position(), "a message that fits the next segment is not cut");
    assertEquals(FrameWriter.NO_ROOM, write(writer, 1, 2_000));
    assertEquals(1_000, out.position());
    assertEquals(
        List.of("ordered 1 number 0 930 bytes", "preface"),
        read(Unpooled.wrappedBuffer(out.array())));
  }

  /** Padding behind it would become a part of the message. */
  @Test
  void nothingFollowsMessageForWhoseLengthThereIsNoRoom() {
    ByteBuffer out = ByteBuffer.allocate(1_000);
    FrameWriter writer = new FrameWriter();
    writer.begin(out, 1_000);
    assertEquals(996, write(writer, 0, 996));
    assertEquals(999, out.position());
    assertTrue(writer.isComplete());
    assertEquals(List.of("ordered 1 number 0 996 bytes"), read(Unpooled.wrappedBuffer(out.flip())));
  }

  @Test
  void writerAndReaderAgree() {
    FrameWriter writer = new FrameWriter();
    for (int room = 20; room < 200; room++) {
      for (int bytes : new int[] {0, 1, 50, 127, 128, 150, 1_000}) {
        ByteBuffer out = ByteBuffer.allocate(room);
        writer.begin(out, room);
        ByteBuf content = LanePair.pattern(bytes);
        OutboundMessage message = new QueuedMessage(content);
        writer.message(Frame.ORDERED, 200, 70_000, Integer.MAX_VALUE, message);
        int written = writer.write(0);
        writer.end();
        if (written == FrameWriter.NO_ROOM) {
          assertEquals(0, out.position());
          continue;
        }
        ByteBuf segment = Unpooled.wrappedBuffer(out.array(), 0, out.position());
        reader.reset(segment, 0, segment.readableBytes());
        assertTrue(reader.next());
        assertEquals(bytes, reader.total());
        assertEquals(written, reader.length());
        assertEquals(content.slice(0, written), segment.slice(reader.payload(), reader.length()));
        assertFalse(reader.next() || reader.isMalformed());
      }
    }
  }

  @Test
  void fragmentsWrittenTogetherAreThoseThatAreWrittenOneByOne() {
    for (int lane : new int[] {0, 127, 128, 65_535}) {
      for (int bytes : new int[] {2, 60, 100, 127, 128, 300, 1_000, 17_000}) {
        for (int room : new int[] {8, 9, 10, 11, 12, 13, 20, 61, 128, 200}) {
          for (int outstanding : new int[] {bytes, 1 << 16, 1 << 30}) {
            assertWrittenAlike(lane, bytes, room, outstanding);
          }
        }
      }
    }
  }

  private static void assertWrittenAlike(int lane, int bytes, int room, int outstanding) {
    int gap = 5;
    int most = 7;
    FrameWriter writer = new FrameWriter();
    ByteBuf content = LanePair.pattern(bytes);
    writer.message(Frame.UNORDERED, lane, 70_000, outstanding, new QueuedMessage(content));
    ByteBuffer together = ByteBuffer.allocate(most * (room + gap));
    ByteBuffer rest = content.nioBuffer(1, bytes - 1);
    int segments = writer.writeFull(together, room, gap, most, rest);
    ByteBuffer alone = ByteBuffer.allocate(together.capacity());
    int offset = 1;
    for (int i = 0; i < segments; i++) {
      int at = i * (room + gap);
      writer.begin(alone.limit(at + room).position(at), room);
      offset += writer.write(offset);
      assertEquals(at + room, alone.position());
    }
    assertEquals(together.clear(), alone.clear());
    assertEquals(bytes - offset, rest.remaining());
    assertTrue(offset < bytes);
    if (segments < most && room > 12) {
      writer.begin(alone.limit(room), room);
      assertEquals(bytes - offset, writer.write(offset), "the last one");
    }
  }
}
