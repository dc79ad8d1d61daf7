package io.kcp4j.lanes;

/** Keeps what lanes that have sent lately need to send, with their place in the scheduler. */
final class RecentOutboxes {

  private static final int KEPT = 32;

  private final LaneOutbox[] kept = new LaneOutbox[KEPT];
  private int next;

  /** Nothing waits any more on a lane: its outbox is kept until many others have been added. */
  void add(LaneOutbox outbox) {
    if (outbox.isRecent) {
      return;
    }
    LaneOutbox oldest = kept[next];
    if (oldest != null) {
      oldest.isRecent = false;
      if (oldest.isEmpty() && oldest.cutBytes == 0) {
        oldest.forget();
      }
    }
    outbox.isRecent = true;
    kept[next] = outbox;
    next = (next + 1) % KEPT;
  }
}
