package io.kcp4j.tunnel.snappy;

import static java.nio.charset.StandardCharsets.US_ASCII;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.CompositeByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.ChannelHandler;
import io.netty.channel.embedded.EmbeddedChannel;
import io.netty.handler.codec.CorruptedFrameException;
import io.netty.handler.codec.compression.SnappyFrameDecoder;
import io.netty.handler.codec.compression.SnappyFrameEncoder;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

class SnappyCodecTest {

  private static final String IDENTIFIER = "ff060000734e61507059";

  /** An uncompressed chunk with the bytes "abc"; its checksum was computed by Go's encoder. */
  private static final String ABC = "01070000 6e57f121 616263";

  private final SplittableRandom random = new SplittableRandom(1);

  @ParameterizedTest
  @EnumSource
  void everythingComesBack(Samples samples) {
    assertComesBack(samples, new SnappyEncoder(), new SnappyDecoder());
  }

  @ParameterizedTest
  @EnumSource
  void nettyDecodesWhatIsEncoded(Samples samples) {
    assertComesBack(samples, new SnappyEncoder(), new SnappyFrameDecoder(true));
  }

  @ParameterizedTest
  @EnumSource
  void whatNettyEncodesIsDecoded(Samples samples) {
    assertComesBack(samples, new SnappyFrameEncoder(), new SnappyDecoder());
  }

  @Test
  void memoryForAnIncompleteChunkFollowsWhatHasArrived() {
    SnappyDecoder decoder = new SnappyDecoder();
    EmbeddedChannel channel = new EmbeddedChannel(decoder);
    channel.writeInbound(Unpooled.wrappedBuffer(HexFormat.of().parseHex(IDENTIFIER)));
    channel.writeInbound(Unpooled.buffer().writeIntLE(0x00 | 70_000 << 8).writeByte(1));
    int held = decoder.heldBytes();
    assertTrue(held <= 256, "held " + held);
    for (int arrived = 1; arrived < 60_000; arrived += 1_000) {
      channel.writeInbound(Unpooled.buffer().writeZero(1_000));
      held = decoder.heldBytes();
      assertTrue(held <= 2 * (arrived + 1_000), "held " + held + " for " + arrived);
    }
    channel.finishAndReleaseAll();
  }

  /** Writes of many lengths, read in pieces of many lengths. */
  private void assertComesBack(Samples samples, ChannelHandler encoder, ChannelHandler decoder) {
    EmbeddedChannel out = new EmbeddedChannel(encoder);
    EmbeddedChannel in = new EmbeddedChannel(decoder);
    for (int i = 0; i < 50; i++) {
      int length = random.nextInt(1, 1 << random.nextInt(1, 18));
      byte[] data = samples.bytes(length, random);
      assertTrue(out.writeOutbound(Unpooled.copiedBuffer(data)));
      ByteBuf encoded = all(out);
      while (encoded.isReadable()) {
        int piece =
            Math.min(encoded.readableBytes(), random.nextInt(1, 1 << random.nextInt(1, 19)));
        in.writeInbound(encoded.readRetainedSlice(piece));
      }
      encoded.release();
      assertArrayEquals(data, read(in), samples + " of " + length + " bytes");
    }
    out.finishAndReleaseAll();
    in.finishAndReleaseAll();
  }

  private static ByteBuf all(EmbeddedChannel encoder) {
    ByteBuf all = Unpooled.buffer();
    for (ByteBuf part; (part = encoder.readOutbound()) != null; part.release()) {
      all.writeBytes(part);
    }
    return all;
  }

  private static byte[] read(EmbeddedChannel decoder) {
    ByteBuf all = Unpooled.buffer();
    for (ByteBuf part; (part = decoder.readInbound()) != null; part.release()) {
      all.writeBytes(part);
    }
    return ByteBufUtil.getBytes(all);
  }

  @Test
  void everyWriteIsCompleteWhenItIsFlushed() {
    EmbeddedChannel out = new EmbeddedChannel(new SnappyEncoder());
    EmbeddedChannel in = new EmbeddedChannel(new SnappyDecoder());
    for (int i = 0; i < 3; i++) {
      byte[] data = {(byte) i};
      out.writeOutbound(Unpooled.copiedBuffer(data));
      in.writeInbound(all(out));
      assertArrayEquals(data, read(in));
    }
  }

  @Test
  void buffersOfSeveralPartsAreEncodedAndDecoded() {
    byte[] data = Samples.WORDS.bytes(20_000, random);
    CompositeByteBuf parts = Unpooled.compositeBuffer();
    for (int at = 0; at < data.length; at += 100) {
      parts.addComponent(true, Unpooled.copiedBuffer(data, at, 100));
    }
    EmbeddedChannel out = new EmbeddedChannel(new SnappyEncoder());
    out.writeOutbound(parts);
    ByteBuf encoded = all(out);
    CompositeByteBuf encodedParts = Unpooled.compositeBuffer();
    while (encoded.isReadable()) {
      encodedParts.addComponent(true, encoded.readBytes(Math.min(encoded.readableBytes(), 333)));
    }
    encoded.release();
    EmbeddedChannel in = new EmbeddedChannel(new SnappyDecoder());
    in.writeInbound(encodedParts);
    assertArrayEquals(data, read(in));
  }

  @Test
  void whatDoesNotGetShorterIsSentUncompressed() {
    EmbeddedChannel out = new EmbeddedChannel(new SnappyEncoder());
    out.writeOutbound(Unpooled.copiedBuffer("abc", US_ASCII));
    ByteBuf encoded = all(out);
    assertEquals(IDENTIFIER + ABC.replace(" ", ""), ByteBufUtil.hexDump(encoded));
    out.writeOutbound(Unpooled.wrappedBuffer(Samples.RANDOM.bytes(8192, random)));
    assertEquals(8192 + 8, all(out).readableBytes());
  }

  @Test
  void writesWithoutBytesAreForwarded() {
    EmbeddedChannel out = new EmbeddedChannel(new SnappyEncoder());
    ByteBuf empty = Unpooled.buffer();
    out.writeOutbound(empty);
    assertSame(empty, out.readOutbound());
    empty.release();
  }

  @Test
  void chunksThatHaveNoMeaningAreSkipped() {
    EmbeddedChannel in = new EmbeddedChannel(new SnappyDecoder());
    write(in, IDENTIFIER + "fe050000 0000000000" + ABC + "80000000" + IDENTIFIER);
    write(in, "81ffffff"); // Almost 16 MiB follow.
    assertEquals(3, read(in).length);
    for (int left = (1 << 24) - 1; left > 0; left -= 1 << 16) {
      in.writeInbound(Unpooled.wrappedBuffer(new byte[Math.min(left, 1 << 16)]));
    }
    assertNull(in.readInbound());
    write(in, ABC);
    assertArrayEquals("abc".getBytes(US_ASCII), read(in));
  }

  private static void write(EmbeddedChannel in, String hex) {
    in.writeInbound(Unpooled.wrappedBuffer(HexFormat.of().parseHex(hex.replace(" ", ""))));
  }

  @ParameterizedTest
  @CsvSource(
      textBlock =
          """
          a stream that begins without an identifier, 01070000 6e57f121 616263
          a stream of another format, ff060000 734e61507058
          an identifier that is too short, ff050000 734e615070
          an unknown type of chunk, ff060000734e61507059 02000000
          another unknown type of chunk, ff060000734e61507059 7f000000
          a wrong checksum, ff060000734e61507059 01070000 6e57f122 616263
          a chunk without a checksum, ff060000734e61507059 01030000 6e57f1
          a compressed chunk without data, ff060000734e61507059 00040000 d8ea82a2
          a corrupt block, ff060000734e61507059 00060000 d8ea82a2 05 00
          more uncompressed data than 64 KiB, ff060000734e61507059 01050001
          more compressed data than 64 KiB become at most, ff060000734e61507059 00cf2a01
          """)
  void whatIsNoSuchStreamIsAnError(String what, String hex) {
    EmbeddedChannel in = new EmbeddedChannel(new SnappyDecoder());
    assertThrows(CorruptedFrameException.class, () -> write(in, hex), what);
    write(in, IDENTIFIER + ABC);
    assertNull(in.readInbound(), "discarded");
    in.finishAndReleaseAll();
  }

  @Test
  void dataBeforeAnErrorIsRead() {
    EmbeddedChannel in = new EmbeddedChannel(new SnappyDecoder());
    assertThrows(CorruptedFrameException.class, () -> write(in, IDENTIFIER + ABC + "02000000"));
    assertEquals(3, read(in).length);
  }

  @Test
  void alteredStreamsNeverYieldAlteredData() {
    byte[] data = Samples.WORDS.bytes(2000, random);
    for (int i = 0; i < 5000; i++) {
      EmbeddedChannel out = new EmbeddedChannel(new SnappyEncoder());
      out.writeOutbound(Unpooled.wrappedBuffer(data));
      ByteBuf encoded = all(out);
      int altered = random.nextInt(encoded.readableBytes());
      encoded.setByte(altered, encoded.getByte(altered) ^ 1 << random.nextInt(8));
      EmbeddedChannel in = new EmbeddedChannel(new SnappyDecoder());
      try {
        in.writeInbound(encoded);
        byte[] read = read(in);
        // Nothing, while the decoder waits for the rest of a longer chunk or skips it.
        assertTrue(read.length == 0 || Arrays.equals(data, read), "byte " + altered);
      } catch (CorruptedFrameException e) {
        assertEquals(0, read(in).length);
      }
      in.finishAndReleaseAll();
    }
  }
}
