package io.kcp4j;

import io.netty.buffer.AdaptiveByteBufAllocator;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.buffer.PooledByteBufAllocator;
import io.netty.buffer.Unpooled;
import io.netty.buffer.UnpooledByteBufAllocator;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.function.UnaryOperator;
import org.junit.jupiter.api.condition.OS;

/** Buffers of every kind that Netty has, all with the same readable bytes. */
public final class BufferKinds {

  /** What stands before the bytes where the reader index is not 0, and behind them. */
  private static final int AROUND_BYTES = 13;

  private BufferKinds() {}

  /**
   * One buffer of each kind by its name, with reader index 0 and with another. To be released by
   * the caller.
   *
   * @param folder where files to be mapped are made
   */
  public static Map<String, ByteBuf> of(byte[] content, Path folder) {
    Map<String, ByteBuf> kinds = new LinkedHashMap<>();
    byte[] framed = new byte[content.length + 2 * AROUND_BYTES];
    System.arraycopy(content, 0, framed, AROUND_BYTES, content.length);
    storages(content, folder.resolve("exact"))
        .forEach((name, buffer) -> views(kinds, name, buffer));
    storages(framed, folder.resolve("framed"))
        .forEach(
            (name, buffer) ->
                views(
                    kinds,
                    name + " behind its start",
                    buffer.setIndex(AROUND_BYTES, AROUND_BYTES + content.length)));
    return kinds;
  }

  /** The same storage as it is and through every kind of view. */
  @SuppressWarnings("deprecation") // There is no other way to a swapped buffer.
  private static void views(Map<String, ByteBuf> kinds, String storage, ByteBuf buffer) {
    Map<String, UnaryOperator<ByteBuf>> views = new LinkedHashMap<>();
    views.put("", b -> b);
    views.put(", slice", ByteBuf::slice);
    views.put(", slice of a slice", b -> b.slice().slice(0, b.readableBytes()));
    views.put(", duplicate", ByteBuf::duplicate);
    views.put(", read-only", ByteBuf::asReadOnly);
    views.put(", slice of a read-only", b -> b.asReadOnly().slice());
    views.put(", swapped", b -> b.order(ByteOrder.LITTLE_ENDIAN));
    views.put(", swapped slice", b -> b.slice().order(ByteOrder.LITTLE_ENDIAN));
    views.put(", unreleasable", Unpooled::unreleasableBuffer);
    views.put(", in a composite", b -> Unpooled.compositeBuffer().addComponent(true, b.slice()));
    views.put(", in a fixed composite", b -> Unpooled.wrappedUnmodifiableBuffer(b.slice()));
    views.put(", in a composite of several", BufferKinds::split);
    views.put(", in a fixed composite of several", BufferKinds::splitUnmodifiable);
    views.forEach(
        (view, operator) -> kinds.put(storage + view, operator.apply(buffer.retainedDuplicate())));
    kinds.put(storage + " itself", buffer);
  }

  private static ByteBuf split(ByteBuf buffer) {
    int half = buffer.readableBytes() / 2;
    ByteBuf first = buffer.retainedSlice(buffer.readerIndex(), half);
    ByteBuf second = buffer.slice(buffer.readerIndex() + half, buffer.readableBytes() - half);
    return Unpooled.compositeBuffer().addComponents(true, first, second);
  }

  private static ByteBuf splitUnmodifiable(ByteBuf buffer) {
    int half = buffer.readableBytes() / 2;
    ByteBuf first = buffer.retainedSlice(buffer.readerIndex(), half);
    ByteBuf second = buffer.slice(buffer.readerIndex() + half, buffer.readableBytes() - half);
    return Unpooled.wrappedUnmodifiableBuffer(first, second);
  }

  private static Map<String, ByteBuf> storages(byte[] bytes, Path file) {
    Map<String, ByteBuf> storages = new LinkedHashMap<>();
    Map.of(
            "pooled",
            PooledByteBufAllocator.DEFAULT,
            "adaptive",
            new AdaptiveByteBufAllocator(),
            "unpooled",
            UnpooledByteBufAllocator.DEFAULT)
        .forEach(
            (name, allocator) -> {
              storages.put(name + " heap", filled(allocator.heapBuffer(bytes.length), bytes));
              storages.put(name + " direct", filled(allocator.directBuffer(bytes.length), bytes));
              storages.put(name + " composite", composite(allocator, bytes));
            });
    byte[] longer = new byte[bytes.length + 5];
    System.arraycopy(bytes, 0, longer, 5, bytes.length);
    ByteBuffer direct = ByteBuffer.allocateDirect(longer.length).put(longer).position(5);
    storages.put("array", Unpooled.wrappedBuffer(bytes.clone()));
    storages.put("part of an array", Unpooled.wrappedBuffer(longer, 5, bytes.length));
    storages.put("NIO heap", Unpooled.wrappedBuffer(ByteBuffer.wrap(longer).position(5)));
    storages.put("NIO direct", Unpooled.wrappedBuffer(direct));
    storages.put(
        "NIO read-only heap",
        Unpooled.wrappedBuffer(ByteBuffer.wrap(longer).position(5).asReadOnlyBuffer()));
    storages.put("NIO read-only direct", Unpooled.wrappedBuffer(direct.asReadOnlyBuffer()));
    // Windows neither overwrites nor deletes a mapped file.
    if (!OS.WINDOWS.isCurrentOs()) {
      try {
        Files.write(file, bytes);
        storages.put("mapped", map(file, FileChannel.MapMode.READ_WRITE));
        storages.put("mapped read-only", map(file, FileChannel.MapMode.READ_ONLY));
      } catch (IOException e) {
        throw new UncheckedIOException(e);
      }
    }
    return storages;
  }

  private static ByteBuf filled(ByteBuf buffer, byte[] bytes) {
    return buffer.writeBytes(bytes);
  }

  private static ByteBuf composite(ByteBufAllocator allocator, byte[] bytes) {
    int third = bytes.length / 3;
    return allocator
        .compositeBuffer()
        .addComponent(true, allocator.directBuffer().writeBytes(bytes, 0, third))
        .addComponent(true, allocator.heapBuffer().writeBytes(bytes, third, bytes.length - third));
  }

  private static ByteBuf map(Path file, FileChannel.MapMode mode) throws IOException {
    try (FileChannel channel =
        FileChannel.open(file, StandardOpenOption.READ, StandardOpenOption.WRITE)) {
      return Unpooled.wrappedBuffer(channel.map(mode, 0, channel.size()));
    }
  }
}
