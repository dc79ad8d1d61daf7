package io.kcp4j;

/** Writes acknowledgements into the datagrams of a flush. */
interface AckOutput {

  /** Acknowledges the segment {@code sn}, which has arrived with the timestamp {@code ts}. */
  void ack(int ts, int sn);
}
