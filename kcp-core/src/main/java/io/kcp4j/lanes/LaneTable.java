package io.kcp4j.lanes;

import java.util.Arrays;
import java.util.function.Consumer;

/** The lanes of a session by id, in pages, so that memory follows the number of lanes. */
final class LaneTable {

  private static final int PAGE_BITS = 6;
  private static final int PAGE_LANES = 1 << PAGE_BITS;

  private Lane[][] pages = {};

  /** The lane, or null. */
  Lane get(int id) {
    int page = id >>> PAGE_BITS;
    return page < pages.length && pages[page] != null ? pages[page][id & (PAGE_LANES - 1)] : null;
  }

  /** Adds a lane whose id is not there. */
  void add(Lane lane) {
    int page = lane.id() >>> PAGE_BITS;
    if (page >= pages.length) {
      pages = Arrays.copyOf(pages, Math.max(page + 1, 2 * pages.length));
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
