package io.kcp4j.netty;

/**
 * How a socket takes datagrams in, see {@link KcpSocketOption#RECEIVE}. All but {@link #SINGLE} are
 * epoll's; on other event loops every mode means that one.
 */
public enum ReceiveMode {
  /**
   * {@link #GRO} as long as what comes is coalesced, {@link #RECVMMSG} while it is not, and from
   * time to time a look whether that has changed.
   */
  AUTO,

  /**
   * One system call takes a train of up to 64 KiB that one peer has sent (UDP_GRO): by far the
   * cheapest for bulk transfer, and the dearest for many peers that send one datagram each.
   */
  GRO,

  /** One system call takes up to 64 datagrams, of any peers. */
  RECVMMSG,

  /** One system call takes one datagram. */
  SINGLE
}
