package io.kcp4j.netty;

import java.util.function.LongConsumer;

/**
 * Makes a flood cost less, as interrupt moderation does in a network adapter: while most of the
 * datagrams that a socket receives belong to no session, the socket pauses after each small batch.
 * Without that, an event loop that keeps up with the flood is woken up for every few datagrams, and
 * spends most of its time on system calls. Sessions wait for {@value #PAUSE_US} microseconds at
 * most. Used by the endpoint's event loop.
 */
final class ReadModeration {

  /** How long a pause lasts. */
  static final int PAUSE_US = 250;

  /** It is decided once in this time whether there is a flood. */
  static final int PERIOD_US = 50_000;

  /** The fewest datagrams of no session in a period that are a flood: 10,000 a second. */
  static final int FLOOD = 500;

  /** More are received at once without a pause. */
  static final int SMALL_BATCH = 32;

  private final LongConsumer pause;

  private boolean isFlooded;

  // Of this period:
  private long startUs;
  private long datagrams;
  private long packetsOfSessionsBefore;

  /**
   * Makes one.
   *
   * @param pause pauses reading; its argument is the time in microseconds
   */
  ReadModeration(LongConsumer pause) {
    this.pause = pause;
  }

  /**
   * A batch has been received.
   *
   * @param batch the number of its datagrams
   * @param packetsOfSessions the number of packets that were for sessions, up to now
   */
  void endBatch(int batch, long packetsOfSessions, long nowUs) {
    datagrams += batch;
    if (nowUs - startUs >= PERIOD_US) {
      long wanted = packetsOfSessions - packetsOfSessionsBefore;
      long unwanted = datagrams - wanted;
      isFlooded = unwanted >= FLOOD && unwanted > wanted && nowUs - startUs < 2 * PERIOD_US;
      startUs = nowUs;
      datagrams = 0;
      packetsOfSessionsBefore = packetsOfSessions;
    }
    if (isFlooded && batch < SMALL_BATCH) {
      pause.accept(PAUSE_US);
    }
  }
}
