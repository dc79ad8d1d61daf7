package io.kcp4j.netty;

/**
 * How a socket receives datagrams, see {@link KcpSocketOption#RECEIVE}. Only epoll has other modes
 * than {@link #SINGLE}; on other event loops every mode means {@link #SINGLE}.
 */
public enum ReceiveMode {
  /**
   * {@link #GRO} as long as datagrams arrive in GRO batches, and otherwise {@link #RECVMMSG}, with
   * samples of GRO from time to time.
   */
  AUTO,

  /**
   * One system call receives a GRO batch of one peer, up to 64 KiB (UDP_GRO): the fastest mode for
   * bulk transfer, and the slowest for many peers that send one datagram each.
   */
  GRO,

  /** One system call receives up to 64 datagrams, of any peers. */
  RECVMMSG,

  /** One system call receives one datagram. */
  SINGLE;

  /** Whether UDP_GRO may be used. */
  boolean isGroAllowed() {
    return this == AUTO || this == GRO;
  }

  /** Whether recvmmsg may be used. */
  boolean isRecvmmsgAllowed() {
    return this == AUTO || this == RECVMMSG;
  }
}
