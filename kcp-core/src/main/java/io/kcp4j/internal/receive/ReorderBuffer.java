package io.kcp4j.internal.receive;

import io.kcp4j.internal.memory.MemoryAccount;
import io.kcp4j.internal.wire.Copying;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.util.Recycler;

/**
 * The reorder buffer: segments that arrived beyond a gap. Their fields are in pages of {@value
 * Page#SEGMENTS} sequence numbers each, which a directory, a ring indexed by page number, finds. So
 * memory is proportional to the number of segments, not to their distance. Pages and the directory
 * are released when they become empty.
 *
 * <p>Payload is copied out of the datagram, since one retained slice would pin a whole receive
 * buffer. Large payloads have buffers of their own; small ones share blocks of 4 KiB, so that
 * memory is proportional to content however small the segments are. A block is retained once for
 * each segment in it.
 */
public final class ReorderBuffer {

  private static final int SMALL_BYTES = 512;
  private static final int BLOCK_BYTES = 4096;

  /** A directory of this capacity is kept and does not count against the memory budget. */
  private static final int MIN_DIRECTORY = 8;

  private static final int DIRECTORY_ENTRY_BYTES = 4;
  private static final Page[] NO_PAGES = {};

  /** The fields of the segments whose sequence numbers differ only in the lowest bits. */
  private static final class Page {

    static final int BITS = 5;
    static final int SEGMENTS = 1 << BITS;

    /** How much a page counts against the memory budget: 15 for each segment, and the objects. */
    static final int BYTES = 640;

    private static final int MAX_POOLED = 128;

    private static final Recycler<Page> RECYCLER =
        new Recycler<>(MAX_POOLED, 0, 8) {
          @Override
          protected Page newObject(Handle<Page> handle) {
            return new Page(handle);
          }
        };

    private final Recycler.Handle<Page> handle;

    final ByteBuf[] payload = new ByteBuf[SEGMENTS];
    final int[] offset = new int[SEGMENTS];
    final char[] length = new char[SEGMENTS];
    final byte[] frg = new byte[SEGMENTS];
    final int[] acknowledgedIn = new int[SEGMENTS];
    int number;
    int size;

    private Page(Recycler.Handle<Page> handle) {
      this.handle = handle;
    }

    static Page take(int number) {
      Page page = RECYCLER.get();
      page.number = number;
      return page;
    }

    /** Returns the page, which is empty, to the pool. */
    void giveBack() {
      handle.recycle(this);
    }

    static int number(int sn) {
      return sn >>> BITS;
    }

    static int index(int sn) {
      return sn & (SEGMENTS - 1);
    }
  }

  private final MemoryAccount account;

  private Page[] pages = NO_PAGES;
  private int size;
  private ByteBuf block;
  private int heldBytes;

  public ReorderBuffer(MemoryAccount account) {
    this.account = account;
  }

  boolean isEmpty() {
    return size == 0;
  }

  /** The bytes of payload, pages, and the directory unless it is of the smallest size. */
  public int heldBytes() {
    return heldBytes;
  }

  /** How many pages the directory has room for. */
  public int directoryCapacity() {
    return pages.length;
  }

  /** Whether the segment {@code sn} is in the buffer. */
  public boolean contains(int sn) {
    if (size == 0) {
      return false;
    }
    Page page = page(sn);
    return page != null && page.payload[Page.index(sn)] != null;
  }

  /** The page of {@code sn}, or null. */
  private Page page(int sn) {
    int number = Page.number(sn);
    Page page = pages[number & (pages.length - 1)];
    return page != null && page.number == number ? page : null;
  }

  /**
   * Adds a segment that is not contained.
   *
   * @param distance how far {@code sn} is beyond the next segment in order; the buffer holds none
   *     before that
   * @param flush the number of the current flush, for {@link #acknowledgeAgain}
   * @return false if the memory budget has no room
   * @throws OutOfMemoryError if there is no memory; nothing has changed then
   */
  public boolean add(int sn, int distance, int frg, ByteBuf data, int index, int bytes, int flush) {
    ByteBuf target = null;
    Page page = null;
    try {
      if (ensureDirectory(sn, distance)) {
        page = ensurePage(sn);
        target = page == null ? null : reserve(bytes);
      }
    } finally {
      if (target == null) {
        releaseIfEmpty(page);
      }
    }
    if (target == null) {
      return false;
    }
    int i = Page.index(sn);
    page.payload[i] = target;
    page.offset[i] = target.writerIndex();
    page.length[i] = (char) bytes;
    page.frg[i] = (byte) frg;
    page.acknowledgedIn[i] = flush;
    Copying.appendOwn(target, data, index, bytes);
    page.size++;
    size++;
    return true;
  }

  /** Makes room in the directory for all pages from the next segment in order to {@code sn}. */
  private boolean ensureDirectory(int sn, int distance) {
    int needed = Page.number(sn) - Page.number(sn - distance) + 1;
    if (needed < 1) { // Sequence numbers wrap.
      needed += 1 << (Integer.SIZE - Page.BITS);
    }
    if (needed <= pages.length) {
      return true;
    }
    int capacity = Math.max(MIN_DIRECTORY, Integer.highestOneBit(2 * needed - 1));
    int more = directoryBytes(capacity) - directoryBytes(pages.length);
    if (!tryReserve(more)) {
      return false;
    }
    try {
      growDirectory(capacity);
      return true;
    } catch (OutOfMemoryError e) {
      release(more);
      throw e;
    }
  }

  private void growDirectory(int capacity) {
    Page[] larger = new Page[capacity];
    for (Page page : pages) {
      if (page != null) {
        larger[page.number & (capacity - 1)] = page;
      }
    }
    pages = larger;
  }

  private static int directoryBytes(int capacity) {
    return capacity <= MIN_DIRECTORY ? 0 : capacity * DIRECTORY_ENTRY_BYTES;
  }

  private Page ensurePage(int sn) {
    Page page = page(sn);
    if (page != null) {
      return page;
    }
    if (!tryReserve(Page.BYTES)) {
      return null;
    }
    Page fresh;
    try {
      fresh = Page.take(Page.number(sn));
    } catch (OutOfMemoryError e) {
      release(Page.BYTES);
      throw e;
    }
    pages[fresh.number & (pages.length - 1)] = fresh;
    return fresh;
  }

  /** Releases {@code page} if it is empty, and block and directory if the buffer is. */
  private void releaseIfEmpty(Page page) {
    if (page != null && page.size == 0) {
      pages[page.number & (pages.length - 1)] = null;
      page.giveBack();
      release(Page.BYTES);
    }
    if (size == 0) {
      dropBlock();
      if (pages.length > MIN_DIRECTORY) {
        release(directoryBytes(pages.length));
        pages = NO_PAGES;
      }
    }
  }

  /**
   * Marks the contained segment {@code sn} as acknowledged in {@code flush}. Returns whether it was
   * not.
   */
  boolean acknowledgeAgain(int sn, int flush) {
    int[] acknowledgedIn = page(sn).acknowledgedIn;
    int i = Page.index(sn);
    boolean again = acknowledgedIn[i] != flush;
    acknowledgedIn[i] = flush;
    return again;
  }

  /** Moves the contained segment {@code sn} to the queue. Returns whether the queue had room. */
  boolean moveTo(ReceiveQueue queue, int sn) {
    Page page = page(sn);
    int i = Page.index(sn);
    ByteBuf from = page.payload[i];
    if (!queue.add(from, page.offset[i], page.length[i], page.frg[i] & 0xff)) {
      return false;
    }
    page.payload[i] = null;
    page.size--;
    size--;
    release(from);
    if (page.size == 0) {
      releaseIfEmpty(page);
    }
    return true;
  }

  private ByteBuf reserve(int bytes) {
    if (bytes == 0) {
      return Unpooled.EMPTY_BUFFER;
    }
    if (bytes > SMALL_BYTES) {
      return allocate(bytes);
    }
    if (block == null || block.writableBytes() < bytes) {
      ByteBuf fresh = allocate(BLOCK_BYTES);
      if (fresh == null) {
        return null;
      }
      dropBlock();
      block = fresh;
    }
    return block.retain();
  }

  private ByteBuf allocate(int bytes) {
    if (!tryReserve(bytes)) {
      return null;
    }
    try {
      return account.context().directBuffer(bytes, bytes);
    } catch (OutOfMemoryError e) {
      release(bytes);
      throw e;
    }
  }

  private boolean tryReserve(int bytes) {
    boolean reserved = account.tryReserveBeyondGap(bytes);
    if (reserved) {
      heldBytes += bytes;
    }
    return reserved;
  }

  private void release(int bytes) {
    heldBytes -= bytes;
    account.release(bytes);
  }

  private void dropBlock() {
    if (block != null) {
      release(block);
      block = null;
    }
  }

  private void release(ByteBuf buffer) {
    int bytes = buffer.capacity();
    if (buffer.release()) {
      release(bytes);
    }
  }

  public void close() {
    for (Page page : pages) {
      if (page != null) {
        for (int i = 0; i < Page.SEGMENTS; i++) {
          if (page.payload[i] != null) {
            release(page.payload[i]);
            page.payload[i] = null;
          }
        }
        page.size = 0;
        releaseIfEmpty(page);
      }
    }
    size = 0;
    releaseIfEmpty(null);
  }
}
