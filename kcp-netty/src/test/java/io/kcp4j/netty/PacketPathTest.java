package io.kcp4j.netty;

import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kcp4j.CongestionControl;
import io.kcp4j.KcpConfig;
import io.kcp4j.crypto.BlockCipher;
import io.kcp4j.crypto.KeyRing;
import io.kcp4j.crypto.PacketKey;
import io.netty.buffer.AbstractByteBufAllocator;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.UnpooledByteBufAllocator;
import io.netty.buffer.UnpooledDirectByteBuf;
import io.netty.buffer.UnpooledHeapByteBuf;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelOption;
import io.netty.channel.ChannelOutboundHandlerAdapter;
import io.netty.channel.ChannelPromise;
import io.netty.util.ReferenceCountUtil;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentSkipListSet;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;

/**
 * "The path of a packet" in architecture.md lists the classes that a debugger shows on the stack
 * where the payload is copied, encrypted or forwarded. Breakpoints are a buffer, an allocator, a
 * cipher and handlers that keep the stack on which they are called.
 */
class PacketPathTest {

  private static final Path DOCUMENT = Path.of("../src/docs/architecture.md");

  private static final Pattern LISTED = Pattern.compile("(\\w+)(?:\\.\\w+)* \\((\\d+)\\)");

  /** More than the UdpBatchWriter holds: it encrypts and sends within the flush, too. */
  private static final int PAYLOAD_BYTES = 300_000;

  /** So many segments leave in one flush. */
  private static final int WINDOW = 256;

  /** The classes on the stacks that begin in one of {@code entries}, without {@code excluded}. */
  private static final class Breakpoints {

    private final String excluded;
    private final List<String> entries;
    private final Set<String> classes = new ConcurrentSkipListSet<>();

    Breakpoints(String excluded, String... entries) {
      this.excluded = excluded;
      this.entries = List.of(entries);
    }

    void hit() {
      List<String> stack =
          StackWalker.getInstance()
              .walk(
                  frames ->
                      frames
                          .map(StackWalker.StackFrame::getClassName)
                          .filter(Breakpoints::isListed)
                          .map(name -> name.replaceFirst("\\$.*", ""))
                          .map(name -> name.substring(name.lastIndexOf('.') + 1))
                          .toList());
      if (!stack.contains(excluded) && entries.contains(stack.get(stack.size() - 1))) {
        classes.addAll(stack);
      }
    }

    /**
     * The parts of a cipher count as the {@code PacketCipher}, and static copying as its caller.
     */
    private static boolean isListed(String name) {
      boolean isPartOfCipher =
          name.startsWith("io.kcp4j.internal.crypto.") && !name.endsWith(".PacketCipher");
      return name.startsWith("io.kcp4j.")
          && !name.startsWith(PacketPathTest.class.getName())
          && !name.equals("io.kcp4j.internal.wire.Copying")
          && !isPartOfCipher;
    }
  }

  /** A batch of datagrams, but for the acknowledgements that leave at its end. */
  private final Breakpoints in = new Breakpoints("UdpBatchWriter", "DatagramReceiver");

  /** A write, and the flush that it has requested. */
  private final Breakpoints out = new Breakpoints("DatagramReceiver", "KcpUnsafe", "KcpEndpoint");

  @Test
  void documentListsTheClassesOnBothPaths() throws Exception {
    AtomicInteger received = new AtomicInteger();
    try (Fixture fixture = new Fixture(TransportUnderTest.NIO)) {
      fixture.configureClient(PacketPathTest::withLargeWindows);
      fixture.configureChildren(PacketPathTest::withLargeWindows);
      fixture.serverBootstrap.option(KcpChannelOption.KEY_RING, keys(in));
      fixture.bootstrap.option(KcpChannelOption.KEY_RING, keys(out));
      fixture.serverBootstrap.option(ChannelOption.ALLOCATOR, new Allocator(in));
      fixture.serverBootstrap.childOption(ChannelOption.ALLOCATOR, new Allocator(in));
      fixture.serve(() -> new Reader(in, received));
      KcpChannel client = fixture.connect(new ChannelInboundHandlerAdapter());
      client.endpoint().channel().pipeline().addFirst(new SocketHandler(out));
      client.writeAndFlush(new Message(1, out)).sync();
      await().until(() -> client.stats().inFlight() == 0); // The session has begun.
      in.classes.clear();

      client.writeAndFlush(new Message(2, out)).sync();
      await().until(() -> received.get() == 1 + 2);
      assertEquals(listed("**In**"), in.classes);

      client.writeAndFlush(new Message(PAYLOAD_BYTES, out)).sync();
      await().until(() -> received.get() == 1 + 2 + PAYLOAD_BYTES);
      assertEquals(listed("**Out**"), out.classes);
    }
  }

  private static KcpConfig.Builder withLargeWindows(KcpConfig.Builder config) {
    return config
        .congestionControl(CongestionControl.NONE)
        .sendWindow(WINDOW)
        .receiveWindow(WINDOW)
        .sendQueue(WINDOW)
        .maxBurst(0);
  }

  private static KeyRing keys(Breakpoints breakpoints) {
    return KeyRing.of(PacketKey.ofBlockCipher("none", () -> new Cipher(breakpoints)));
  }

  /** The classes that the block below a heading numbers, whose number the heading says. */
  private static Set<String> listed(String heading) throws IOException {
    String text = Files.readString(DOCUMENT);
    int start = text.indexOf("\n" + heading);
    int block = text.indexOf("```", start);
    Matcher matcher = LISTED.matcher(text.substring(block, text.indexOf("```", block + 3)));
    List<String> names = new ArrayList<>();
    while (matcher.find()) {
      names.add(matcher.group(1));
      assertEquals(names.size(), Integer.parseInt(matcher.group(2)), matcher.group(1));
    }
    String sentence = text.substring(start, block).replaceAll("\\s+", " ");
    assertTrue(sentence.contains(": " + names.size() + " classes."), sentence);
    return new ConcurrentSkipListSet<>(names);
  }

  /** What a user writes. Its bytes are read where they are copied. */
  private static final class Message extends UnpooledHeapByteBuf {

    private final Breakpoints breakpoints;

    Message(int bytes, Breakpoints breakpoints) {
      super(UnpooledByteBufAllocator.DEFAULT, bytes, bytes);
      this.breakpoints = breakpoints;
      writerIndex(bytes);
    }

    @Override
    public byte[] array() {
      breakpoints.hit();
      return super.array();
    }

    @Override
    public ByteBuf getBytes(int index, ByteBuffer to) {
      breakpoints.hit();
      return super.getBytes(index, to);
    }

    @Override
    public ByteBuffer internalNioBuffer(int index, int length) {
      breakpoints.hit();
      return super.internalNioBuffer(index, length);
    }
  }

  /** Its buffers are views where they are written. */
  private static final class Allocator extends AbstractByteBufAllocator {

    private final Breakpoints breakpoints;

    Allocator(Breakpoints breakpoints) {
      super(true);
      this.breakpoints = breakpoints;
    }

    @Override
    protected ByteBuf newHeapBuffer(int initialCapacity, int maxCapacity) {
      return new UnpooledHeapByteBuf(this, initialCapacity, maxCapacity);
    }

    @Override
    protected ByteBuf newDirectBuffer(int initialCapacity, int maxCapacity) {
      return new UnpooledDirectByteBuf(this, initialCapacity, maxCapacity) {
        @Override
        public ByteBuffer internalNioBuffer(int index, int length) {
          breakpoints.hit();
          return super.internalNioBuffer(index, length);
        }
      };
    }

    @Override
    public boolean isDirectBufferPooled() {
      return false;
    }
  }

  /** Encrypts nothing. */
  private record Cipher(Breakpoints breakpoints) implements BlockCipher {

    @Override
    public int blockBytes() {
      return 16;
    }

    @Override
    public void encrypt(byte[] in, int inIndex, byte[] out, int outIndex) {
      breakpoints.hit();
      System.arraycopy(in, inIndex, out, outIndex, 16);
    }
  }

  /** Reads what has arrived. */
  private static final class Reader extends ChannelInboundHandlerAdapter {

    private final Breakpoints breakpoints;
    private final AtomicInteger received;

    Reader(Breakpoints breakpoints, AtomicInteger received) {
      this.breakpoints = breakpoints;
      this.received = received;
    }

    @Override
    public void channelRead(ChannelHandlerContext ctx, Object msg) {
      breakpoints.hit();
      received.addAndGet(((ByteBuf) msg).readableBytes());
      ReferenceCountUtil.release(msg);
    }
  }

  /** In the pipeline of the socket, before the system call. */
  private static final class SocketHandler extends ChannelOutboundHandlerAdapter {

    private final Breakpoints breakpoints;

    SocketHandler(Breakpoints breakpoints) {
      this.breakpoints = breakpoints;
    }

    @Override
    public void write(ChannelHandlerContext ctx, Object msg, ChannelPromise promise) {
      breakpoints.hit();
      ctx.write(msg, promise);
    }

    @Override
    public void flush(ChannelHandlerContext ctx) {
      breakpoints.hit();
      ctx.flush();
    }
  }
}
