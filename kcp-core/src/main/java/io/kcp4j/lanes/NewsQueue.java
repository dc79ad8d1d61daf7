package io.kcp4j.lanes;

/** The lanes on which something has happened, each once, in the order in which it has. */
final class NewsQueue {

  private Lane first;
  private Lane last;

  boolean isEmpty() {
    return first == null;
  }

  void add(Lane lane) {
    if (lane.is(Lane.NEWS)) {
      return;
    }
    lane.set(Lane.NEWS, true);
    if (first == null) {
      first = lane;
    } else {
      last.nextNews = lane;
    }
    last = lane;
  }

  /** Removes the first lane; null if there is none. */
  Lane poll() {
    Lane lane = first;
    if (lane != null) {
      first = lane.nextNews;
      lane.nextNews = null;
      lane.set(Lane.NEWS, false);
    }
    return lane;
  }

  void clear() {
    first = null;
  }
}
