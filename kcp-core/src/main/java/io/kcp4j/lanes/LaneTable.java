package io.kcp4j.lanes;

import java.util.Arrays;
import java.util.function.Consumer;

/**
 * The lanes of a session by id, in pages, so that memory follows the number of lanes, unless a peer
 * spreads their ids. Pages are never removed, as lanes are not.
 */
final class LaneTable {

  private static final int PAGE_BITS = 6;
  private static final int PAGE_LANES = 1 << PAGE_BITS;

  private static final int REFERENCE_BYTES = 4;
  private static final int HEADER_BYTES = 16;

  /** The memory of a page. */
  static final int PAGE_BYTES = HEADER_BYTES + PAGE_LANES * REFERENCE_BYTES;

  private Lane[][] pages = {};

  /** The lane, or null. */
  Lane get(int id) {
    int page = id >>> PAGE_BITS;
    return page < pages.length && pages[page] != null ? pages[page][id & (PAGE_LANES - 1)] : null;
  }

  /** How much memory {@link #add} takes for a lane with this id, in bytes. */
  int neededBytes(int id) {
    int page = id >>> PAGE_BITS;
    if (page >= pages.length) {
      return PAGE_BYTES + (capacityFor(page) - pages.length) * REFERENCE_BYTES;
    }
    return pages[page] == null ? PAGE_BYTES : 0;
  }

  private int capacityFor(int page) {
    return Math.max(page + 1, 2 * pages.length);
  }

  /** Adds a lane whose id is not there. */
  void add(Lane lane) {
    int page = lane.id() >>> PAGE_BITS;
    if (page >= pages.length) {
      pages = Arrays.copyOf(pages, capacityFor(page));
    }
    if (pages[page] == null) {
      pages[page] = new Lane[PAGE_LANES];
    }
    pages[page][lane.id() & (PAGE_LANES - 1)] = lane;
  }

  void forEach(Consumer<Lane> action) {
    for (Lane[] page : pages) {
      for (int i = 0; page != null && i < PAGE_LANES; i++) {
        if (page[i] != null) {
          action.accept(page[i]);
        }
      }
    }
  }
}
