package io.kcp4j;

/** How a session detects which segments are lost, and how soon it acknowledges thin traffic. */
public enum LossDetection {
  /**
   * By time, after RACK (RFC 8985): a segment is lost when one sent after it has been acknowledged,
   * and it was sent earlier by more than the reordering that was seen. Thin traffic is acknowledged
   * within 2 ms, and its lost segments are sent twice: protocol.md 3.3, 4.9 and 4.10.
   */
  RACK,
  /**
   * By count, as C KCP: a segment is lost when {@link KcpConfig#fastRetransmit()} acknowledgements
   * have come for segments sent after it: protocol.md 4.4 and 4.5.
   */
  FAST_RETRANSMIT
}
