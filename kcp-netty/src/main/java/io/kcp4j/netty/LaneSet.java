package io.kcp4j.netty;

import io.kcp4j.lanes.Lane;
import java.util.Iterator;
import java.util.LinkedHashSet;
import java.util.Set;

/**
 * Lanes in the order in which they were added, each once. When it becomes empty it gives back the
 * memory that many lanes have taken.
 */
final class LaneSet {

  /** The table for so many lanes is kept. */
  private static final int KEPT = 64;

  private Set<Lane> lanes = new LinkedHashSet<>();
  private boolean isLarge;

  boolean isEmpty() {
    return lanes.isEmpty();
  }

  void add(Lane lane) {
    lanes.add(lane);
    isLarge |= lanes.size() > KEPT;
  }

  /** Returns whether it was there. */
  boolean remove(Lane lane) {
    boolean isRemoved = lanes.remove(lane);
    shrink();
    return isRemoved;
  }

  /** Removes the first; null if there is none. */
  Lane poll() {
    Iterator<Lane> first = lanes.iterator();
    if (!first.hasNext()) {
      return null;
    }
    Lane lane = first.next();
    first.remove();
    shrink();
    return lane;
  }

  void clear() {
    lanes.clear();
    shrink();
  }

  private void shrink() {
    if (isLarge && lanes.isEmpty()) {
      lanes = new LinkedHashSet<>();
      isLarge = false;
    }
  }
}
